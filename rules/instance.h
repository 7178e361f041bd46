// A rule at definite ranks and with definite axes, permutations and switches; dimensions and all other attributes stay
// unknown. What is proved is proved of instances: a rule holds if all of its instances do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/operator.h"
#include "rules/rule.h"

namespace taso {

/// A statement about integers that shape inference needs or that a rule's condition makes.
struct Requirement {
  enum class Kind {
    equal,      ///< left = right
    not_equal,  ///< left != right
    at_least,   ///< left >= right
    divides,    ///< left divides right
  };
  Kind kind = Kind::equal;
  Dim left, right;
  bool operator==(const Requirement&) const = default;
};
std::string text_of(const Requirement& requirement);
/// Whether it holds for numbers; false also when a dimension overflows or divides by what is not positive.
bool holds(const Requirement& requirement, const std::function<std::int64_t(std::string_view)>& binding);

/// A real attribute: a variable, or a number if `variable` is empty.
struct RealAttribute {
  std::string variable;
  double value = 0;
  bool operator==(const RealAttribute&) const = default;
};

/// Axes, permutations and switches are numbers; every other integer attribute is a Dim.
using SymbolicField =
    std::variant<bool, std::int64_t, Dim, RealAttribute, std::vector<std::int64_t>, std::vector<Dim>>;

/// An operator whose attributes may be unknown. `kind` is its place in all_operators(); the fields are in the order of
/// fields_of(), without `type`.
struct SymbolicOperator {
  std::size_t kind = 0;
  std::vector<SymbolicField> fields;
  bool operator==(const SymbolicOperator&) const = default;
};
/// The default operator of that place in the list, made once.
const Operator& prototype(std::size_t kind);
std::size_t kind_named(std::string_view name);  ///< the name must be an operator's
/// Its place among the fields without `type`; nothing if there is none of that name.
std::optional<std::size_t> field_named(std::size_t kind, std::string_view name);
const SymbolicField& field(const SymbolicOperator& op, std::string_view name);
const std::vector<Dim>& dims_field(const SymbolicOperator& op, std::string_view name);
std::string text_of(const SymbolicOperator& op);

/// The shapes of the results; what must hold for them to be right is appended to `requirements`. Nothing if ranks do not
/// fit, whatever the dimensions are. Element-wise operators broadcast a dimension that is 1 to the letter; two others
/// are required to be equal.
std::optional<Shapes> infer(const SymbolicOperator& op, std::span<const Shape> operands,
                            std::vector<Requirement>& requirements);

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
