// A rule at definite ranks and with definite axes, permutations and switches; dimensions and all other attributes stay
// unknown. What is proved is proved of instances: a rule holds if all of its instances do.
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

/// A node's operands come before it. Equal nodes are one.
struct InstanceNode {
  std::optional<std::size_t> input;  ///< the place in Instance::inputs
  SymbolicOperator op;
  std::vector<std::pair<std::size_t, std::size_t>> operands;  ///< (node, output)
  Shapes shapes;                                              ///< of its results
};
using InstanceValue = std::pair<std::size_t, std::size_t>;

struct Instance {
  std::vector<std::string> inputs;
  std::vector<InstanceNode> nodes;  ///< all inputs first, in their order
  std::vector<InstanceValue> source, target;

  std::vector<Unknown> unknowns;            ///< free ones only: whatever equations determine is replaced everywhere
  std::map<std::string, Dim> determined;    ///< what replaced each of the others
  std::map<std::string, Dim> made_up;       ///< what each unknown stands for that solving made up
  std::vector<std::string> real_variables;  ///< real attributes
  /// What may be assumed: well-formedness of the source (of both sides for an axiom), every dimension at least 1, and
  /// the conditions, as far as solving has not made them true by construction.
  std::vector<Requirement> hypotheses;
  /// What must be shown beside equality of values: the target is well-formed, results have equal shapes.
  std::vector<Requirement> obligations;
  /// False if the target is never well-formed here, or its results' ranks differ from the source's.
  bool target_fits = true;
  /// The chosen ranks, axes, permutations, switches: "rank(x) = 4, axis = 1".
  std::string choice;

  const Shape& shape(InstanceValue value) const { return nodes[value.first].shapes[value.second]; }
};

struct InstanceOptions {
  std::size_t greatest_rank = 4;
  std::vector<Condition> extra;  ///< further conditions, for abduction
  /// Where a rule is element-wise, axes along which the same inputs broadcast are as good as one axis, and their order
  /// means nothing: leaves out the ranks that say nothing new.
  bool each_case_once = false;
};

/// Every instance that is not contradictory on the face of it, at the ranks of which the rule speaks: those at which
/// its target can be well-formed for some axis, permutation or switch. If there are none of these, all. Throws
/// InputError when the rule makes no sense (an attribute's variable of two kinds, an attribute that is missing).
std::vector<Instance> instances(const Rule& rule, const InstanceOptions& options = {});

/// The same, and what keeps the others from being made, with their choices: a dimension overflows, an axis depends on
/// one. A rule with any of these is not proved, whatever is known of the rest.
struct InstanceList {
  std::vector<Instance> made;
  std::vector<std::string> undecided;
};
InstanceList all_instances(const Rule& rule, const InstanceOptions& options = {});

/// At most `count` instances, chosen at random, with a rank or a length above what is proved (InstanceOptions{}) and at
/// most options.greatest_rank. Nothing is proved of these, and rules are not used there; but one that is false there
/// was hardly meant as it stands.
std::vector<Instance> instances_beyond(const Rule& rule, const InstanceOptions& options, std::size_t count,
                                       std::uint64_t seed);

/// What is open in a rule before it becomes an instance. `domain` is never empty; the answer is a place in it.
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The rank of an input.
  virtual std::size_t rank(const std::string& input, std::size_t least, std::size_t greatest) = 0;
  /// An axis, a switch (0 or 1), a list of axes or a permutation.
  virtual std::size_t value(const std::string& variable, const ChoiceDomain& domain) = 0;
  /// The length of a list that nothing determines yet.
  virtual std::size_t length(const std::string& variable, std::size_t least, std::size_t greatest) = 0;
  /// Whether this dimension of an input is 1, where inputs broadcast.
  virtual bool is_one(const std::string& input, std::size_t axis) = 0;
  /// Whether a number is 0 at least; the instance then assumes what was answered.
  virtual bool is_non_negative(const Dim& number) = 0;
};

/// The instance for one sequence of choices; nothing if it contradicts itself. Throws Undecided (term_value.h). With
/// `solve` false, unknowns keep their own names (only those equal to a number are replaced) and `hypotheses` are
/// complete, as matching needs them.
std::optional<Instance> instance(const Rule& rule, Chooser& chooser, const InstanceOptions& options = {},
                                 bool solve = true);

}  // namespace taso::rules
