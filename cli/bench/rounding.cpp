#include "cli/bench/rounding.h"

#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

namespace taso::cli {
namespace {

float rounded_to_tf32(float value) {
  if (std::isnan(value)) return value;
  constexpr std::uint32_t dropped = 23 - 10;  // fraction bits
  auto word = std::bit_cast<std::uint32_t>(value);
  word += (1u << (dropped - 1)) - 1 + ((word >> dropped) & 1u);
  return std::bit_cast<float>(word >> dropped << dropped);
}

class Rounding : public OpaqueBody {
 public:
  explicit Rounding(cost::Precision precision) : precision_(precision) {}
  std::string obstacle() const override { return ""; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override {
    return {rounded(inputs.at(0).value(), precision_)};
  }
  bool same(const OpaqueBody& other) const override {
    const auto* const rounding = dynamic_cast<const Rounding*>(&other);
    return rounding != nullptr && rounding->precision_ == precision_;
  }

 private:
  cost::Precision precision_;
};

/// Copies the nodes into the same pool, with roundings in between.
class Rewriter {
 public:
  Rewriter(const Graph& graph, cost::Precision precision)
      : graph_(graph), pool_(*graph.pool), body_(std::make_shared<Rounding>(precision)) {}

  Graph run() {
    for (const Node* node : graph_.nodes()) add(*node);
    Graph result{graph_.pool, graph_.inputs, {}};
    for (const Value& output : graph_.outputs) result.outputs.push_back(made(output));
    return result;
  }

 private:
  void add(const Node& node) {
    if (node.as_input() != nullptr || node.as_constant() != nullptr) return;
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) operands.push_back(operand ? made(operand) : operand);
    const Operator* const op = node.as_operator();
    if (op != nullptr && (std::holds_alternative<op::Conv>(*op) || std::holds_alternative<op::MatMul>(*op)))
      for (Value& operand : operands) operand = rounding_of(operand);
    const Node& copy = op != nullptr ? pool_.add(*op, operands) : pool_.add_opaque(*node.as_opaque(), operands);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) made_.emplace(node.output(i), copy.output(i));
  }

  Value made(const Value& value) const {
    const auto found = made_.find(value);
    return found == made_.end() ? value : found->second;
  }

  Value rounding_of(const Value& value) {
    if (value.type().element != ElementType::float32) return value;
    const auto [found, is_new] = rounded_.try_emplace(value);
    if (is_new) found->second = pool_.add_opaque({"Rounding", 0, {value.type()}, body_}, std::vector{value}).output();
    return found->second;
  }

  const Graph& graph_;
  Pool& pool_;
  std::shared_ptr<const OpaqueBody> body_;
  std::unordered_map<Value, Value, HashValue> made_, rounded_;
};

}  // namespace

float rounded(float value, cost::Precision precision) {
  switch (precision) {
    case cost::Precision::fp32: break;
    case cost::Precision::tf32: return rounded_to_tf32(value);
    case cost::Precision::fp16: return static_cast<float>(Float16(value));
    case cost::Precision::bf16: return static_cast<float>(BFloat16(value));
  }
  return value;
}

Array rounded(const Array& array, cost::Precision precision) {
  if (array.type() != ElementType::float32) return array;
  Array result(array.type(), array.extents());
  const auto from = array.values<float>();
  const auto to = result.mutable_values<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = rounded(from[i], precision);
  return result;
}

Graph with_rounded_products(const Graph& graph, cost::Precision precision) { return Rewriter(graph, precision).run(); }

}  // namespace taso::cli
