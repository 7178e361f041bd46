// An instance at an assignment: operators with numbers as attributes, which can be evaluated on tensors.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rules/instance/assignment.h"

namespace taso::rules {

/// What is wrong with one side of an instance at an assignment.
struct Misfit {
  bool in_target = true;
  std::string reason;  ///< one sentence
};

/// All nodes of an instance at one assignment, with the shapes of their results.
struct ConcreteInstance {
  struct Node {
    std::optional<std::size_t> input;
    Operator op;
    std::vector<InstanceValue> operands;
    Shapes shapes;  ///< numbers
  };
  std::vector<Extents> inputs;  ///< their shapes
  std::vector<Node> nodes;      ///< those that the results need, operands first; others have no shapes
  std::vector<InstanceValue> source, target;
  double work = 0;  ///< operations and elements of results
};

/// Makes concrete instances of one instance, for many assignments.
class Concretizer {
 public:
  explicit Concretizer(const Instance& instance);
  /// A misfit if an operator refuses its operands, or if the two sides have results of different shapes. The target is
  /// to blame only if the source is well-formed.
  std::variant<ConcreteInstance, Misfit> at(const Assignment& assignment) const;
  /// The operator with its attributes as numbers; nothing if one overflows.
  std::optional<Operator> operator_at(std::size_t node, const Assignment& assignment) const;
  std::optional<Extents> input_at(std::size_t input, const Assignment& assignment) const;

 private:
  using CompiledField = std::variant<bool, std::int64_t, CompiledDim, std::size_t, double, std::vector<std::int64_t>,
                                     std::vector<CompiledDim>>;  // a std::size_t is the index of a real variable
  struct CompiledNode {
    std::size_t kind = 0;
    std::vector<std::pair<std::string_view, CompiledField>> fields;
  };
  const Instance& instance_;
  std::vector<std::vector<CompiledDim>> inputs_;
  std::vector<CompiledNode> nodes_;
  std::vector<std::size_t> of_source_,
      of_target_;  // the nodes that the results need; the target's without the source's
};

/// The results of both sides, in their order.
template <Scalar S>
struct Sides {
  std::vector<Tensor<S>> source, target;
};

template <Scalar S>
Sides<S> evaluate_sides(const ConcreteInstance& instance, const std::vector<Tensor<S>>& inputs) {
  std::vector<std::vector<Tensor<S>>> values(instance.nodes.size());
  for (std::size_t i = 0; i < instance.nodes.size(); ++i) {
    const ConcreteInstance::Node& node = instance.nodes[i];
    if (node.input) {
      values[i] = {inputs[*node.input]};
      continue;
    }
    if (node.shapes.empty()) continue;
    std::vector<Tensor<S>> operands;
    for (const auto& [operand, output] : node.operands) operands.push_back(values[operand][output]);
    values[i] = ops::evaluate<S>(node.op, operands);
  }
  Sides<S> sides;
  for (const auto& [node, output] : instance.source) sides.source.push_back(values[node][output]);
  for (const auto& [node, output] : instance.target) sides.target.push_back(values[node][output]);
  return sides;
}

}  // namespace taso::rules
