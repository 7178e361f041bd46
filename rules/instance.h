// A rule at definite ranks and with definite axes, permutations and switches; dimensions and all other attributes stay
// unknown. What is proved is proved of instances: a rule holds if all of its instances do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/rule.h"
#include "rules/symbolic_operator.h"

namespace taso {

/// A node's operands come before it. Equal nodes are one.
struct InstanceNode {
  std::optional<std::size_t> input;  ///< the place in Instance::inputs
  SymbolicOperator op;
  std::vector<std::pair<std::size_t, std::size_t>> operands;  ///< (node, output)
  Shapes shapes;                                              ///< of its results
};
using InstanceValue = std::pair<std::size_t, std::size_t>;

/// An unknown integer: a dimension of an input ("x.0"), an attribute ("g", or "s.0" for an element of a list), or one
/// made up to solve a divisibility ("q1").
struct Unknown {
  std::string name;
  std::int64_t least = 1;  ///< 0 for pads, beginnings of slices and the like
};

struct Instance {
  std::vector<std::string> inputs;
  std::vector<InstanceNode> nodes;  ///< all inputs first, in their order
  std::vector<InstanceValue> source, target;

  std::vector<Unknown> unknowns;            ///< free ones only: whatever equations determine is replaced everywhere
  std::map<std::string, Dim> determined;    ///< what replaced each of the others
  std::vector<std::string> real_variables;  ///< real attributes
  /// What may be assumed: well-formedness of the source (of both sides for an axiom), every dimension at least 1, and
  /// the conditions, as far as solving has not made them true by construction.
  std::vector<Requirement> hypotheses;
  /// What must be shown beside equality of values: the target is well-formed, results have equal shapes.
  std::vector<Requirement> obligations;
  /// False if ranks do not fit in the target, or the results' ranks differ: then the rule is false here.
  bool target_fits = true;
  /// The chosen ranks, axes, permutations, switches: "rank(x) = 4, axis = 1".
  std::string choice;

  const Shape& shape(InstanceValue value) const { return nodes[value.first].shapes[value.second]; }
};

struct InstanceOptions {
  std::size_t greatest_rank = 4;
  std::vector<Condition> extra;  ///< further conditions, for abduction
};

/// Every instance that is not contradictory on the face of it. Throws InputError when the rule makes no sense (an
/// attribute's variable of two kinds, no instance at all).
std::vector<Instance> instances(const Rule& rule, const InstanceOptions& options = {});

}  // namespace taso
