// A rule at fixed ranks and with fixed axes, permutations and switches; dimensions and all other attributes stay
// unknown. Proofs are about instances: a rule holds if all of its instances do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/instance/choice_domain.h"
#include "rules/instance/equations.h"
#include "rules/instance/symbolic_operator.h"
#include "rules/language/rule.h"

namespace taso::rules {

/// Operands come before the node. Equal nodes are one.
struct InstanceNode {
  std::optional<std::size_t> input;  ///< index in Instance::inputs
  SymbolicOperator op;
  std::vector<std::pair<std::size_t, std::size_t>> operands;  ///< (node, output)
  Shapes shapes;                                              ///< of its results
};
using InstanceValue = std::pair<std::size_t, std::size_t>;

struct Instance {
  std::vector<std::string> inputs;
  std::vector<InstanceNode> nodes;  ///< all inputs first, in their order
  std::vector<InstanceValue> source, target;

  std::vector<Unknown> unknowns;            ///< free ones only: those that equations determine are replaced everywhere
  std::map<std::string, Dim> determined;    ///< what replaced each of the others
  std::map<std::string, Dim> made_up;       ///< the meaning of each unknown that solving made up
  std::vector<std::string> real_variables;  ///< real attributes
  /// What may be assumed: the source is well-formed (both sides for an axiom), every dimension is at least 1, and the
  /// conditions hold, as far as solving has not made them true by construction.
  std::vector<Requirement> hypotheses;
  /// What must be shown beside the equality of values: the target is well-formed, and results have equal shapes.
  std::vector<Requirement> obligations;
  /// False if the target is never well-formed here, or its results have other ranks than the source's.
  bool target_fits = true;
  /// The chosen ranks, axes, permutations, switches: "rank(x) = 4, axis = 1".
  std::string choice;

  const Shape& shape(InstanceValue value) const { return nodes[value.first].shapes[value.second]; }
};

/// The greatest rank that a rule covers: 4, or more if a list of known length asks for it. A three-dimensional
/// convolution has six pads, so `pads=[0, 1, 1, 0, 1, 1]` gives 5.
std::size_t greatest_rank(const Rule& rule);

struct InstanceOptions {
  std::optional<std::size_t> greatest_rank;  ///< missing: the rule's own
  std::vector<Condition> extra;              ///< additional conditions, for abduction
  /// In an element-wise rule, axes along which the same inputs broadcast are equivalent to one axis, and their order
  /// does not matter. If true, leaves out ranks that say nothing new.
  bool each_case_once = false;
};

/// All instances that are not evidently contradictory, at the ranks that the rule covers: those at which its target can
/// be well-formed for some axis, permutation or switch. If there are no such ranks, all. Throws InputError if the rule
/// is meaningless (a variable for attributes of two kinds, a missing attribute).
std::vector<Instance> instances(const Rule& rule, const InstanceOptions& options = {});

/// The same, and why other instances cannot be made, with their choices: a dimension overflows, an axis depends on a
/// dimension. A rule with any of these is not proved, whatever is known about the rest.
struct InstanceList {
  std::vector<Instance> made;
  std::vector<std::string> undecided;
};
InstanceList all_instances(const Rule& rule, const InstanceOptions& options = {});

/// At most `count` instances, chosen at random, with a rank or a length above the proved ones, and at most
/// options.greatest_rank. Nothing is proved about these, and rules are not used there; but a rule that is false
/// there was probably not meant like that.
std::vector<Instance> instances_beyond(const Rule& rule, const InstanceOptions& options, std::size_t count,
                                       std::uint64_t seed);

/// Decides what is open in a rule before it becomes an instance. `domain` is never empty; the answer is an index into
/// it.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The rank of an input.
  virtual std::size_t rank(const std::string& input, std::size_t least, std::size_t greatest) = 0;
  /// An axis, a switch (0 or 1), a list of axes or a permutation.
  virtual std::size_t value(const std::string& variable, const ChoiceDomain& domain) = 0;
  /// The length of a list that nothing determines yet.
  virtual std::size_t length(const std::string& variable, std::size_t least, std::size_t greatest) = 0;
  /// Whether this dimension of an input is 1, if inputs broadcast.
  virtual bool is_one(const std::string& input, std::size_t axis) = 0;
  /// Whether a number is at least 0; the instance then assumes the answer.
  virtual bool is_non_negative(const Dim& number) = 0;
};

/// The instance for one sequence of choices; nothing if it contradicts itself. Throws Undecided (term_value.h). With
/// `solve` false, unknowns keep their names (only those equal to a number are replaced) and `hypotheses` are complete,
/// as matching needs them.
std::optional<Instance> instance(const Rule& rule, Chooser& chooser, const InstanceOptions& options = {},
                                 bool solve = true);

}  // namespace taso::rules
