#include "runtime/session/host_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"

namespace taso::runtime {
namespace {

/// Throws InputError if a size depends on more than the shapes of inputs.
Extents extents_of(const Value& value, const Sizes& sizes) {
  const Type& type = value.type();
  Extents extents;
  if (type.shape)
    for (const Dim& dim : *type.shape)
      if (const auto size = size_of(dim, sizes)) extents.push_back(*size);
  if (!type.shape || extents.size() < type.shape->size())
    throw InputError(fmt::format("cannot run: the shape {} is not known before run time", text_of(type)));
  return extents;
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
    inputs.push_back({graph.inputs[i].type().element, extents_of(graph.inputs[i], sizes)});
    step.call.read.push_back(operand(graph.inputs[i], inputs.back().extents));
    step.read.push_back({gpu::Binding::Place::input, i, 0});
    steps.input_bytes.push_back(bytes(step.call.read.back()));
    steps.input_elements.push_back(step.call.read.back().element);
  }
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
    made.outputs.push_back(extents_of(graph.outputs[i], sizes));
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

}  // namespace taso::runtime
