// Follows the steps of a certificate over a graph, and accepts each only if the rule says it.
//
// Every value has a number and stands, from beginning to end, for the same tensor. What is kept of it is one true
// equation: the operator and the values that it can be computed with. A step adds equations that the rule gives, and a
// merge says that two values with one equation are one. So whatever graph the equations make in the end, as long as it
// has no cycle, computes what the first one did. Nothing of the search is needed or believed.
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

/// Rules by name, made ready when they are asked for. Several may have one name if they come from several files.
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

  /// Takes one step; or says why not, and is of no further use.
  std::optional<std::string> take(const rules::RewriteStep& step, ReplayRules& rules);
  /// The graph that the steps have led to, in the pool of the first; with these values as outputs behind its own.
  Graph graph(const std::vector<rules::ValueNumber>& more = {}) const;
  /// The number of a value of the first graph.
  std::optional<rules::ValueNumber> number_of(const Value& value) const;

 private:
  /// What a value is computed by: an operator, or a node of the first graph that is none (an input, a constant, or
  /// something opaque, which may have got other operands).
  struct Equation {
    std::shared_ptr<const Operator> op;
    const Node* leaf = nullptr;
    std::vector<rules::ValueNumber> operands;
    std::size_t output = 0;
  };
  struct Entry {
    rules::ValueNumber same_as;  // itself, or a value that it has turned out to be
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
  mutable std::vector<Entry> values_;  // find() makes its ways shorter
  std::unordered_map<Value, rules::ValueNumber, HashValue> numbers_;
  std::vector<rules::ValueNumber> outputs_;
};

}  // namespace taso::verifier
