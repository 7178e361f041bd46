#include "tests/generator/derivation.h"

#include <functional>
#include <set>

#include <fmt/format.h>

#include "rules/instance/assignment.h"
#include "rules/language/canonical.h"

namespace taso {
namespace {

std::string_view text_of(Saturation::End end) {
  switch (end) {
    case Saturation::End::goal: return "derived";
    case Saturation::End::saturated: return "nothing more can be derived";
    case Saturation::End::rounds: return "the limit of rounds was met";
    case Saturation::End::terms: return "the limit of terms was met";
    case Saturation::End::matches: return "the limit of matches was met";
    case Saturation::End::stopped: return "stopped";
  }
  return "";
}

}  // namespace

std::multiset<std::string> operators_of(const std::vector<PatternPtr>& side) {
  std::multiset<std::string> result;
  const std::function<void(const Pattern&)> visit = [&](const Pattern& pattern) {
    if (!pattern.is_input()) result.insert(pattern.op);
    for (const PatternPtr& operand : pattern.operands) visit(*operand);
  };
  for (const PatternPtr& pattern : side) visit(*pattern);
  return result;
}

Properties equations_of(std::vector<Rule> rules) {
  for (Rule& rule : rules) rule.kind = Rule::Kind::axiom;
  return Properties(rules);
}

std::string obstacle_to_deriving(const Rule& rule, const Properties& equations, const SaturationLimits& limits) {
  const std::vector<Instance> all = instances(rule);
  if (all.empty()) return "it is true of nothing";
  for (const Instance& instance : all) {
    const auto place = [&](std::string_view reason) { return fmt::format("{} ({})", reason, instance.choice); };
    if (!instance.target_fits) return place("the target does not fit");
    const auto assignments = AssignmentSampler(instance).samples(sample_count, 7, 19);
    if (assignments.empty()) return place("no shapes were found that satisfy it");
    ModelValues models;
    for (std::size_t k = 0; k < sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
    EGraph graph;
    const auto terms = seed(graph, instance, models);
    if (!terms) return place("a size has no value");
    std::vector<std::pair<TermId, TermId>> goals;
    for (std::size_t i = 0; i < instance.source.size(); ++i)
      goals.emplace_back((*terms)[instance.source[i].first][instance.source[i].second],
                         (*terms)[instance.target[i].first][instance.target[i].second]);
    const auto end = saturate(graph, equations, goals, limits).end;
    if (end != Saturation::End::goal) return place(text_of(end));
  }
  return {};
}

std::string rule_that_says(const Rule& rule, const std::vector<Rule>& rules) {
  const std::string content = content_hash(rule, ResultOrder::any);
  for (const Rule& other : rules)
    if (content_hash(other, ResultOrder::any) == content) return other.name;
  // In either direction
  const auto all_operators_of = [](const Rule& one) {
    auto all = operators_of(one.source);
    all.merge(operators_of(one.target));
    return all;
  };
  const auto operators = all_operators_of(rule);
  for (const Rule& other : rules) {
    if (all_operators_of(other) != operators) continue;
    // Once, at each place: what takes two steps is derived.
    const SaturationLimits once{.rounds = 1, .terms = 500, .matches = 1000};
    if (obstacle_to_deriving(rule, equations_of({other}), once).empty()) return other.name;
  }
  return {};
}

}  // namespace taso
