#include "cli/target/call_model.h"

#include <fmt/format.h>

#include "onnx/check/drawing.h"
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

}  // namespace

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

}  // namespace taso::cli
