#include "cli/target/call_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "onnx/check/drawing.h"
#include "onnx/export/export.h"
#include "onnx/export/node_model.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

class DrawnWeight : public Weight {
 public:
  DrawnWeight(Type type, Extents extents, std::uint64_t seed, bool is_exponent)
      : type_(std::move(type)), extents_(std::move(extents)), seed_(seed), is_exponent_(is_exponent) {}
  Array load() const override {
    // Runtimes have a faster way for squares, and squares are what models have.
    if (is_exponent_ && count(extents_) == 1) return Array::scalar(2.0).cast(type_.element).reshaped(extents_);
    return onnx::draw_array(type_, extents_, 2, seed_, onnx::Draw::small);
  }

 private:
  Type type_;
  Extents extents_;
  std::uint64_t seed_;
  bool is_exponent_;
};

bool is_exponent(const cost::Call& call, std::uint32_t operand) {
  for (const cost::Call::Step& step : call.steps)
    if (std::holds_alternative<op::Pow>(step.op) && step.operands.size() == 2 && step.operands[1] == operand)
      return true;
  return false;
}

Type type_of(const cost::Call::Operand& operand) {
  Shape shape;
  for (const std::int64_t extent : operand.extents) shape.push_back(Dim(extent));
  return {operand.element, shape};
}

/// Adds a copy of the call.
void add_copy(const cost::Call& call, std::size_t copy, bool has_contents, Graph& graph) {
  std::vector<Value> values;
  for (std::uint32_t i = 0; i < call.read.size(); ++i) {
    const cost::Call::Operand& operand = call.read[i];
    const Type type = type_of(operand);
    if (!operand.is_weight) {
      values.push_back(graph.pool->input(fmt::format("x{}_{}", copy, i), type));
      graph.inputs.push_back(values.back());
      continue;
    }
    std::shared_ptr<const Weight> weight;
    if (has_contents)
      weight = std::make_shared<DrawnWeight>(type, operand.extents, 1000 * copy + i, is_exponent(call, i));
    values.push_back(graph.pool->constant(fmt::format("w{}_{}", copy, i), type, std::move(weight)));
  }
  for (const cost::Call::Step& step : call.steps) {
    std::vector<Value> operands;
    for (const std::uint32_t operand : step.operands) operands.push_back(values.at(operand));
    const Node& node = graph.pool->add(step.op, operands);
    if (values.size() < step.first_result + node.outputs().size())
      values.resize(step.first_result + node.outputs().size());
    for (std::size_t i = 0; i < node.outputs().size(); ++i) values[step.first_result + i] = node.output(i);
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Value& result = values.at(call.results[i]);
    if (!result.type().shape || static_extents(*result.type().shape) != call.written[i].extents)
      throw ShapeError("a result has another shape than in the plan");
    graph.outputs.push_back(result);
  }
}

/// Nothing if a size is known only at run time. Weights have contents if `has_contents`.
std::optional<Graph> graph_of(const cost::Call& call, std::size_t copies, bool has_contents) {
  if (call.steps.empty() || call.results.empty()) return std::nullopt;
  Graph graph{std::make_shared<Pool>(), {}, {}};
  try {
    for (std::size_t copy = 0; copy < copies; ++copy) add_copy(call, copy, has_contents, graph);
  } catch (const InputError&) {
    return std::nullopt;
  }
  if (graph.inputs.empty()) return std::nullopt;
  return graph;
}

// --- Foreign nodes ---

std::optional<onnx::BodyParts> node_of(const cost::Call& call) {
  return call.foreign && call.foreign->body ? onnx::parts_of(*call.foreign->body) : std::nullopt;
}

/// The content of a foreign node's operand if it is not a weight but known, or follows from the result's shape.
std::optional<Array> known_content(const cost::Call& call, const onnx::BodyParts& node, std::size_t operand) {
  if (operand < node.constants.size() && node.constants[operand]) return node.constants[operand];
  if (node.node.op_type() != "Expand" || operand != 1 || call.written.size() != 1) return std::nullopt;
  const Extents& shape = call.written[0].extents;
  return Array::of<std::int64_t>({static_cast<std::int64_t>(shape.size())}, shape);
}

/// Integers may be indices: 0 is always one. Those of 8 bits are factors.
std::int64_t range_of(ElementType element) {
  return element == ElementType::int8 || element == ElementType::uint8 ? 100 : 1;
}

bool can_run_alone(const cost::Call& call) {
  const std::optional<onnx::BodyParts> node = node_of(call);
  if (!node || call.written.empty()) return false;
  const auto has_size = [](const cost::Call::Operand& operand) { return size_of(operand.element) > 0; };
  if (!std::all_of(call.read.begin(), call.read.end(), has_size)) return false;
  if (!std::all_of(call.written.begin(), call.written.end(), has_size)) return false;
  // Without an input, it would be computed when the model is loaded.
  for (std::size_t i = 0; i < call.foreign->operands.size(); ++i) {
    const std::uint32_t read = call.foreign->operands[i];
    if (read != cost::Call::Function::omitted && !call.read[read].is_weight && !known_content(call, *node, i))
      return true;
  }
  return false;
}

onnx::Model model_of_foreign(const cost::Call& call, std::size_t copies) {
  const std::optional<onnx::BodyParts> node = node_of(call);
  if (!node) throw InputError("its node is not known");
  onnx::NodeModel around;
  around.copies = copies;
  for (const std::uint32_t read : call.foreign->operands)
    around.operands.push_back(read == cost::Call::Function::omitted ? std::nullopt
                                                                    : std::optional(type_of(call.read[read])));
  around.results.resize(static_cast<std::size_t>(node->node.output_size()));
  for (std::size_t i = 0; i < call.written.size(); ++i)
    around.results.at(call.foreign->results[i]) = type_of(call.written[i]);
  around.content = [&](std::size_t copy, std::size_t place) {
    std::optional<Array> known = known_content(call, *node, place);
    const cost::Call::Operand& operand = call.read[call.foreign->operands[place]];
    if (known || !operand.is_weight) return known;
    return std::optional(onnx::draw_array(type_of(operand), operand.extents, range_of(operand.element),
                                          1000 * copy + place, onnx::Draw::small));
  };
  return onnx::write_node(*node, around);
}

}  // namespace

bool has_model(const cost::Call& call) {
  return call.foreign ? can_run_alone(call) : graph_of(call, 1, false).has_value();
}

onnx::Model model_of(const cost::Call& call, std::size_t copies, std::int64_t opset) {
  if (call.foreign) return model_of_foreign(call, copies);
  const std::optional<Graph> graph = graph_of(call, copies, true);
  if (!graph) throw InputError("it cannot be written as a model");
  return onnx::write_model(*graph, {.opset = opset});
}

}  // namespace taso::cli
