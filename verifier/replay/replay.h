// Replays the steps of a certificate on a graph, and accepts a step only if its rule says so.
//
// Every value has a number and always stands for the same tensor. What is stored about it is one true equation: an
// operator and the values from which it can be computed. A step adds the equations that the rule gives; a merge says
// that two values with the same equation are one. So the graph that the equations form in the end computes the same as
// the first one, as long as it has no cycle. Nothing of the search is needed or trusted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/graph/graph.h"
#include "rules/egraph/property.h"
#include "rules/language/rewrite_certificate.h"
#include "verifier/replay/rule_at_place.h"

namespace taso::verifier {

/// Rules by name, prepared on demand. Rules from several files may share a name.
class ReplayRules {
 public:
  explicit ReplayRules(const std::vector<rules::Rule>& rules);
  const std::vector<const rules::Property*>& named(const std::string& name);

 private:
  std::unordered_map<std::string, std::vector<rules::Rule>> rules_;
  std::unordered_map<std::string, std::vector<const rules::Property*>> ready_;
  std::vector<std::unique_ptr<const rules::Property>> owned_;
};

class Replay {
 public:
  explicit Replay(const Graph& graph);

  /// Takes one step. Otherwise returns why not; the object must not be used any more then.
  std::optional<std::string> take(const rules::RewriteStep& step, ReplayRules& rules);
  /// The graph after the steps taken, in the pool of the first; the values in `more` follow its own outputs.
  Graph graph(const std::vector<rules::ValueNumber>& more = {}) const;
  /// The number of a value of the first graph.
  std::optional<rules::ValueNumber> number_of(const Value& value) const;

 private:
  /// How a value is computed: by an operator, or by a leaf of the first graph (an input, a constant, or an opaque node,
  /// whose operands may have changed).
  struct Equation {
    std::shared_ptr<const Operator> op;
    const Node* leaf = nullptr;
    std::vector<rules::ValueNumber> operands;
    std::size_t output = 0;
  };
  struct Entry {
    rules::ValueNumber same_as;  // itself, or a value that it turned out to equal
    Equation equation;
    Type type;
  };
  struct Plan;

  rules::ValueNumber find(rules::ValueNumber number) const;
  rules::ValueNumber known(rules::ValueNumber number) const;
  bool same(const Equation& a, const Equation& b) const;
  void define(Equation equation, Type type);
  FoundPart source_at(const rules::Pattern& pattern, rules::ValueNumber number, const rules::RewriteStep& step,
                      const rules::Property& rule, std::uint64_t& place) const;
  Plan plan(const rules::RewriteStep& step, const rules::Property& rule) const;
  void apply(const rules::RewriteStep& step, const Plan& plan);
  void check_made(const rules::RewriteStep& step, const GroundTarget& target, Plan& plan) const;
  std::vector<rules::ValueNumber> in_order(const std::vector<rules::ValueNumber>& from) const;

  Graph first_;
  mutable std::vector<Entry> values_;  // find() compresses paths
  std::unordered_map<Value, rules::ValueNumber, HashValue> numbers_;
  std::vector<rules::ValueNumber> outputs_;
};

}  // namespace taso::verifier
