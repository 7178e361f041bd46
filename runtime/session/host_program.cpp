#include "runtime/session/host_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"

namespace taso::runtime {
namespace {

std::optional<Extents> extents_of(const Value& value, const Sizes& sizes) {
  if (!value.type().shape) return std::nullopt;
  Extents extents;
  for (const Dim& dim : *value.type().shape) {
    const auto size = size_of(dim, sizes);
    if (!size) return std::nullopt;
    extents.push_back(*size);
  }
  return extents;
}

Extents known_extents(const Value& value, const Sizes& sizes) {
  if (auto extents = extents_of(value, sizes)) return *std::move(extents);
  throw InputError(fmt::format("cannot run: the shape {} is not known before run time", text_of(value.type())));
}

bool is_empty(const Value& value, const Sizes& sizes) {
  const auto extents = value ? extents_of(value, sizes) : std::nullopt;
  return extents && std::find(extents->begin(), extents->end(), 0) != extents->end();
}

}  // namespace

HostProgram host_program(const Graph& graph, const Sizes& sizes, gpu::Accelerator& gpu, cost::Precision precision,
                         unsigned threads, gpu::DeviceMemory memory) {
  struct Side {
    ElementType element;
    Extents extents;
  };
  HostProgram made;
  gpu::DeviceSteps steps;
  gpu::DeviceSteps::Step step;
  std::vector<Side> inputs;
  const auto operand = [&](const Value& value, const Extents& extents) {
    return cost::Call::Operand{cost::stored(value.type().element, precision), extents, strides_of(extents), false};
  };
  const auto bytes = [](const cost::Call::Operand& one) {
    return count(one.extents) * static_cast<std::int64_t>(size_of(one.element));
  };
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back({graph.inputs[i].type().element, known_extents(graph.inputs[i], sizes)});
    step.call.read.push_back(operand(graph.inputs[i], inputs.back().extents));
    step.read.push_back({gpu::Binding::Place::input, i, 0});
    steps.input_bytes.push_back(bytes(step.call.read.back()));
    steps.input_elements.push_back(step.call.read.back().element);
  }
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
    made.outputs.push_back(known_extents(graph.outputs[i], sizes));
    step.call.written.push_back(operand(graph.outputs[i], made.outputs.back()));
    step.written.push_back({gpu::Binding::Place::output, i, 0});
    steps.output_bytes.push_back(bytes(step.call.written.back()));
    steps.output_elements.push_back(step.call.written.back().element);
  }
  step.call.kind = cost::Kernel::Kind::opaque;
  step.host = [&graph, inputs = std::move(inputs), precision, threads](std::span<const std::span<const std::byte>> from,
                                                                       std::span<const std::span<std::byte>> to) {
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < from.size(); ++i)
      arrays.push_back(gpu::from_device(from[i], inputs[i].element, inputs[i].extents, precision));
    const std::vector<Array> results = interpret(graph, arrays, {threads});
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::vector<std::byte> result = gpu::to_device(results[i], precision);
      if (result.size() != to[i].size()) throw InputError("a result has another size than inferred");
      std::copy(result.begin(), result.end(), to[i].begin());
    }
  };
  steps.steps.push_back(std::move(step));
  steps.memory = std::move(memory);
  made.program = gpu.load(std::move(steps));
  return made;
}

bool computes_from_nothing(const Graph& graph, const Sizes& sizes) {
  const std::vector<const Node*> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    const Operator* const op = node->as_operator();
    const Opaque* const opaque = node->as_opaque();
    const bool has_kernel =
        op != nullptr ? !std::holds_alternative<op::Concat>(*op)
                      : opaque != nullptr && opaque->body && (opaque->body->movement() || opaque->body->function());
    if (!has_kernel) return false;
    const auto operands = node->inputs();
    if (std::none_of(operands.begin(), operands.end(), [&](const Value& one) { return is_empty(one, sizes); }))
      return false;
    for (std::size_t i = 0; i < node->outputs().size(); ++i)
      if (!is_empty(node->output(i), sizes)) return true;
    return false;
  });
}

}  // namespace taso::runtime
