#include "tests/generator/derivation.h"

#include <functional>
#include <set>

#include <fmt/format.h>

#include "generator/selection/worth.h"
#include "rules/instance/assignment.h"
#include "rules/language/canonical.h"

namespace taso::test {
namespace {

std::string_view text_of(rules::Saturation::End end) {
  switch (end) {
    case rules::Saturation::End::goal: return "derived";
    case rules::Saturation::End::saturated: return "nothing more can be derived";
    case rules::Saturation::End::rounds: return "the limit of rounds was met";
    case rules::Saturation::End::terms: return "the limit of terms was met";
    case rules::Saturation::End::matches: return "the limit of matches was met";
    case rules::Saturation::End::stopped: return "stopped";
  }
  return "";
}

}  // namespace

std::multiset<std::string> operators_of(const std::vector<rules::PatternPtr>& side) {
  std::multiset<std::string> result;
  const std::function<void(const rules::Pattern&)> visit = [&](const rules::Pattern& pattern) {
    if (!pattern.is_input()) result.insert(pattern.op);
    for (const rules::PatternPtr& operand : pattern.operands) visit(*operand);
  };
  for (const rules::PatternPtr& pattern : side) visit(*pattern);
  return result;
}

rules::Properties equations_in_a_search(std::vector<rules::Rule> rules) {
  for (rules::Rule& rule : generator::commutativity_axioms()) rules.push_back(std::move(rule));
  return equations_of(std::move(rules));
}

rules::Properties equations_of(std::vector<rules::Rule> rules) {
  for (rules::Rule& rule : rules) rule.kind = rules::Rule::Kind::axiom;
  return rules::Properties(rules);
}

std::string obstacle_to_deriving(const rules::Rule& rule, const rules::Properties& equations,
                                 const rules::SaturationLimits& limits) {
  const std::vector<rules::Instance> all = rules::instances(rule);
  if (all.empty()) return "it is true of nothing";
  for (const rules::Instance& instance : all) {
    const auto place = [&](std::string_view reason) { return fmt::format("{} ({})", reason, instance.choice); };
    if (!instance.target_fits) return place("the target does not fit");
    const auto assignments = rules::AssignmentSampler(instance).samples(rules::sample_count, 7, 19);
    if (assignments.empty()) return place("no shapes were found that satisfy it");
    rules::ModelValues models;
    for (std::size_t k = 0; k < rules::sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
    rules::EGraph graph;
    const auto terms = rules::seed(graph, instance, models);
    if (!terms) return place("a size has no value");
    std::vector<std::pair<rules::TermId, rules::TermId>> goals;
    for (std::size_t i = 0; i < instance.source.size(); ++i)
      goals.emplace_back((*terms)[instance.source[i].first][instance.source[i].second],
                         (*terms)[instance.target[i].first][instance.target[i].second]);
    const auto end = rules::saturate(graph, equations, goals, limits).end;
    if (end != rules::Saturation::End::goal) return place(text_of(end));
  }
  return {};
}

std::string rule_that_says(const rules::Rule& rule, const std::vector<rules::Rule>& rules) {
  const std::string content = rules::content_hash(rule, rules::ResultOrder::any);
  for (const rules::Rule& other : rules)
    if (rules::content_hash(other, rules::ResultOrder::any) == content) return other.name;
  // In either direction
  const auto all_operators_of = [](const rules::Rule& one) {
    auto all = operators_of(one.source);
    all.merge(operators_of(one.target));
    return all;
  };
  const auto operators = all_operators_of(rule);
  for (const rules::Rule& other : rules) {
    if (all_operators_of(other) != operators) continue;
    // Once, at each place: what takes two steps is derived.
    const rules::SaturationLimits once{.rounds = 1, .terms = 500, .matches = 1000};
    if (obstacle_to_deriving(rule, equations_of({other}), once).empty()) return other.name;
  }
  return {};
}

}  // namespace taso::test
