#include "generator/selection/prune.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "rules/egraph/saturation.h"
#include "rules/instance/assignment.h"

namespace taso::generator {
namespace {

bool same(const Item& a, const Item& b) {
  return a.tensor.extents == b.tensor.extents && a.tensor.data == b.tensor.data;
}

/// A node as text that says how it is computed: equal nodes of two terms have the same text.
std::string form(const SmallTerm& term, std::size_t place) {
  const SmallTerm::Node& node = term.nodes[place];
  if (node.schema == SmallTerm::Node::input) return "i" + std::to_string(node.place);
  std::string text = "f" + std::to_string(node.schema) + "." + std::to_string(node.output) + "(";
  for (const std::uint8_t operand : node.operands) text += form(term, operand) + ",";
  return text + ")";
}

/// Evaluates a term in which the value of some nodes is given.
std::optional<Item> evaluate_with(const SmallTerm& term, const SampleInputs& world, const std::string& given,
                                  const Item& item) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < term.nodes.size(); ++i) {
    const SmallTerm::Node& node = term.nodes[i];
    if (node.schema == SmallTerm::Node::input) {
      items.push_back(world.input(node.place));
      continue;
    }
    if (form(term, i) == given) {
      items.push_back(item);
      continue;
    }
    std::vector<const Item*> operands;
    for (const std::uint8_t operand : node.operands) operands.push_back(&items[operand]);
    auto results = world.apply(world.family().schemas[node.schema], operands);
    if (!results) return std::nullopt;
    items.push_back(std::move((*results)[node.output]));
  }
  return std::move(items.back());
}

/// Whether no, some or all convolutions of a rule have a bias.
enum class BiasUse { none, some, all };

BiasUse bias_use_of(const rules::Rule& rule) {
  bool with = false, without = false;
  const std::function<void(const rules::Pattern&)> look = [&](const rules::Pattern& pattern) {
    if (pattern.op == "conv") (pattern.operands.size() == 3 ? with : without) = true;
    for (const rules::PatternPtr& operand : pattern.operands) look(*operand);
  };
  for (const auto* side : {&rule.source, &rule.target})
    for (const rules::PatternPtr& pattern : *side) look(*pattern);
  return !with ? BiasUse::none : without ? BiasUse::some : BiasUse::all;
}

/// Whether both sides become equal at these ranks and axes.
bool rewrites(const rules::Instance& instance, const rules::Properties& rules, const rules::SaturationLimits& limits,
              const std::function<bool(const rules::Step&)>& is_forbidden) {
  const auto assignments = rules::AssignmentSampler(instance).samples(rules::sample_count, 7, 19);
  if (assignments.empty()) return false;
  rules::ModelValues models;
  for (std::size_t k = 0; k < rules::sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
  rules::EGraph graph;
  const auto terms = rules::seed(graph, instance, models);
  if (!terms) return false;
  std::vector<std::pair<rules::TermId, rules::TermId>> goals;
  for (std::size_t i = 0; i < instance.source.size(); ++i)
    goals.emplace_back((*terms)[instance.source[i].first][instance.source[i].second],
                       (*terms)[instance.target[i].first][instance.target[i].second]);
  return rules::saturate(graph, rules, goals, limits, {}, is_forbidden).end == rules::Saturation::End::goal;
}

/// Whether both sides become equal. The lowest rank, the highest and one between stand for all: a rule of one rank must
/// not make a rule of all ranks redundant.
bool rewrites(const rules::Rule& candidate, const rules::Properties& rules, const rules::SaturationLimits& limits,
              const std::function<bool(const rules::Step&)>& is_forbidden) {
  if (rules.size() == 0) return false;
  const auto all = rules::instances(candidate);
  if (all.empty()) return false;
  const std::set<std::size_t> places{0, all.size() / 2, all.size() - 1};
  return std::all_of(places.begin(), places.end(), [&](std::size_t place) {
    return all[place].target_fits && rewrites(all[place], rules, limits, is_forbidden);
  });
}

}  // namespace

bool has_common_subgraph(const Equality& equality, const SampleInputs& world) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> of_left;  // form → (term, node)
  for (std::size_t t = 0; t < equality.left.size(); ++t)
    for (std::size_t i = 0; i < equality.left[t].nodes.size(); ++i)
      if (equality.left[t].nodes[i].schema != SmallTerm::Node::input && !equality.left[t].nodes[i].operands.empty())
        of_left.emplace(form(equality.left[t], i), std::pair(t, i));
  for (const SmallTerm& right : equality.right)
    for (std::size_t i = 0; i < right.nodes.size(); ++i) {
      if (right.nodes[i].schema == SmallTerm::Node::input) continue;
      const std::string common = form(right, i);
      const auto found = of_left.find(common);
      if (found == of_left.end()) continue;
      // Does the equality still hold with any tensor in its place?
      SmallTerm part{{right.nodes.begin(), right.nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1}};
      auto item = evaluate(part, world);
      if (!item) continue;
      Random random(std::hash<std::string>{}(common));
      for (Field& element : item->tensor.data) element = Field::from_bits(random.next() >> 3);
      bool holds = true;
      for (std::size_t t = 0; t < equality.left.size() && holds; ++t) {
        const auto a = evaluate_with(equality.left[t], world, common, *item),
                   b = evaluate_with(equality.right[t], world, common, *item);
        holds = a && b && same(*a, *b);
      }
      if (holds) return true;
    }
  return false;
}

bool is_derivable(const rules::Rule& candidate, const rules::Properties& rules, std::size_t rounds,
                  const std::function<bool(std::size_t)>& may_use) {
  rules::SaturationLimits limits;
  limits.rounds = rounds;
  limits.terms = 500;
  limits.matches = 4000;
  std::vector<bool> takes_out(rules.size(), false);
  if (bias_use_of(candidate) == BiasUse::all)
    for (std::size_t i = 0; i < rules.size(); ++i) takes_out[i] = bias_use_of(rules[i].rule()) == BiasUse::some;
  return rewrites(candidate, rules, limits, [&](const rules::Step& step) {
    return takes_out[step.property] || (may_use && !may_use(step.property));
  });
}

bool is_instance(const rules::Rule& candidate, const rules::Properties& rules,
                 const std::function<bool(std::size_t)>& may_use) {
  rules::SaturationLimits limits;
  limits.rounds = 1;
  limits.terms = 200;
  limits.matches = 2000;
  return rewrites(candidate, rules, limits, [&](const rules::Step& step) { return !may_use(step.property); });
}

}  // namespace taso::generator
