#include "cli/details/changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rules/language/mathematics.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

class Sets {
 public:
  std::size_t add() {
    parents_.push_back(parents_.size());
    return parents_.back();
  }
  std::size_t find(std::size_t one) {
    while (parents_[one] != one) one = parents_[one] = parents_[parents_[one]];
    return one;
  }
  /// The smaller number stands for both, so that the result does not depend on the order.
  void unite(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parents_;
};

using Producers = std::unordered_map<std::string, std::size_t>;

Producers producers_of(const ModelDetails& model) {
  Producers producers;
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string& name : model.nodes[i].outputs)
      if (!name.empty()) producers.emplace(name, i);
  return producers;
}

/// The node that gives the same values in the other model; nothing if there is none.
std::optional<std::size_t> counterpart(const NodeDetails& node, const Producers& others) {
  for (const std::string& name : node.outputs)
    if (const auto found = others.find(name); found != others.end()) return found->second;
  return std::nullopt;
}

bool is_same_operator(const NodeDetails& a, const NodeDetails& b) {
  return a.op == b.op && a.attributes == b.attributes && a.outputs == b.outputs;
}

/// A value that nothing computes at run time: a constant of the file.
bool is_weight(const std::string& name, const ModelDetails& model, const Producers& producers) {
  if (const auto node = producers.find(name); node != producers.end()) return model.nodes[node->second].is_constant;
  return std::find(model.inputs.begin(), model.inputs.end(), name) == model.inputs.end();
}

void find_fates(Details& details, const Producers& before, const Producers& after) {
  std::set<std::string> rewritten;  // values that got other computations
  const std::unordered_map<rules::ValueNumber, std::string> names(details.applied.names.begin(),
                                                                  details.applied.names.end());
  for (const rules::RewriteStep& step : details.applied.steps)
    for (const rules::ValueNumber value : step.replaced)
      if (const auto name = names.find(value); name != names.end()) rewritten.insert(name->second);
  // Equal weights are merged, so that an operand has another name and the same content.
  const auto differs_in_weights_only = [&](const NodeDetails& from, const NodeDetails& to) {
    if (from.inputs.size() != to.inputs.size()) return false;
    for (std::size_t i = 0; i < from.inputs.size(); ++i)
      if (from.inputs[i] != to.inputs[i] &&
          !(is_weight(from.inputs[i], details.before, before) && is_weight(to.inputs[i], details.after, after)))
        return false;
    return std::none_of(from.outputs.begin(), from.outputs.end(),
                        [&](const std::string& name) { return rewritten.contains(name); });
  };
  const auto fate_of_pair = [&](const NodeDetails& from, const NodeDetails& to) {
    if (from.bytes == to.bytes) return NodeFate::same;
    if (!is_same_operator(from, to)) return NodeFate::replaced;
    return differs_in_weights_only(from, to) ? NodeFate::same : NodeFate::rewired;
  };
  std::set<std::string> cleaned;
  for (const rules::CleanupStep& step : details.applied.clean_ups) cleaned.insert(step.at);
  for (const NodeDetails& node : details.before.nodes) {
    const auto other = counterpart(node, after);
    const NodeFate fate = other ? fate_of_pair(node, details.after.nodes[*other]) : NodeFate::replaced;
    const bool is_cleaned =
        !node.is_priced || std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](const std::string& name) { return cleaned.contains(name); });
    details.fates_before.push_back(fate == NodeFate::replaced && is_cleaned ? NodeFate::cleaned : fate);
  }
  for (const NodeDetails& node : details.after.nodes) {
    const auto other = counterpart(node, before);
    const NodeFate fate = other ? fate_of_pair(details.before.nodes[*other], node) : NodeFate::made;
    details.fates_after.push_back(fate == NodeFate::replaced ? NodeFate::made : fate);
  }
}

/// Finds which changed nodes and which steps belong together.
class RegionFinder {
 public:
  RegionFinder(Details& details, const Producers& before, const Producers& after)
      : details_(details), before_(before), after_(after) {}

  void find() {
    number_nodes();
    join_neighbours(details_.before, before_, nodes_before_);
    join_neighbours(details_.after, after_, nodes_after_);
    for (const auto& [name, node] : before_) {
      const auto other = after_.find(name);
      if (other != after_.end()) unite(nodes_before_[node], nodes_after_[other->second]);
    }
    join_steps();
    collect();
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void number_nodes() {
    const auto number = [&](const ModelDetails& model, const std::vector<NodeFate>& fates) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = 0; i < fates.size(); ++i)
        numbers.push_back(fates[i] == NodeFate::same || model.nodes[i].is_constant ? none : sets_.add());
      return numbers;
    };
    nodes_before_ = number(details_.before, details_.fates_before);
    nodes_after_ = number(details_.after, details_.fates_after);
    for (std::size_t i = 0; i < details_.applied.steps.size(); ++i) steps_.push_back(sets_.add());
  }

  void unite(std::size_t a, std::size_t b) {
    if (a != none && b != none) sets_.unite(a, b);
  }

  void join_neighbours(const ModelDetails& model, const Producers& producers, const std::vector<std::size_t>& numbers) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i)
      for (const std::string& name : model.nodes[i].inputs)
        if (const auto found = producers.find(name); found != producers.end())
          unite(numbers[i], numbers[found->second]);
  }

  /// A step belongs to the nodes whose values it replaces, and to the steps that made these values. What it only uses
  /// does not count: many steps may use one weight. A step without any node belongs to what it uses after all.
  void join_steps() {
    std::unordered_map<rules::ValueNumber, std::size_t> step_of;  // the first step that made or replaced a value
    const std::unordered_map<rules::ValueNumber, std::string> names(details_.applied.names.begin(),
                                                                    details_.applied.names.end());
    const auto join_nodes = [&](std::size_t step, rules::ValueNumber value) {
      const auto name = names.find(value);
      if (name == names.end()) return;
      if (const auto node = before_.find(name->second); node != before_.end())
        unite(steps_[step], nodes_before_[node->second]);
      if (const auto node = after_.find(name->second); node != after_.end())
        unite(steps_[step], nodes_after_[node->second]);
    };
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const rules::RewriteStep& step = details_.applied.steps[i];
      for (const rules::ValueNumber value : step.replaced) {
        join_nodes(i, value);
        if (const auto [made, is_new] = step_of.emplace(value, i); !is_new) unite(steps_[i], steps_[made->second]);
      }
      for (const rules::RewriteStep::Made& made : step.made)
        for (const rules::ValueNumber value : made.results) step_of.emplace(value, i);
    }
    std::set<std::size_t> with_nodes;
    for (const auto* numbers : {&nodes_before_, &nodes_after_})
      for (const std::size_t number : *numbers)
        if (number != none) with_nodes.insert(sets_.find(number));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (with_nodes.contains(sets_.find(steps_[i]))) continue;
      for (const auto& [input, value] : details_.applied.steps[i].inputs) {
        join_nodes(i, value);
        if (const auto made = step_of.find(value); made != step_of.end()) unite(steps_[i], steps_[made->second]);
      }
    }
  }

  void collect() {
    std::map<std::size_t, ChangedRegion> regions;
    for (std::size_t i = 0; i < nodes_before_.size(); ++i)
      if (nodes_before_[i] != none) regions[sets_.find(nodes_before_[i])].before.push_back(i);
    for (std::size_t i = 0; i < nodes_after_.size(); ++i)
      if (nodes_after_[i] != none) regions[sets_.find(nodes_after_[i])].after.push_back(i);
    const cost::Objective objective = details_.applied.objective;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      ChangedRegion& region = regions[sets_.find(steps_[i])];
      region.steps.push_back(i);
      const rules::RewriteStep& step = details_.applied.steps[i];
      region.saved += cost::in_units(objective, step.cost_before) - cost::in_units(objective, step.cost_after);
    }
    std::unordered_map<std::string, std::set<std::string>> passes;
    for (const rules::CleanupStep& step : details_.applied.clean_ups) passes[step.at].insert(step.pass);
    for (auto& [root, region] : regions) {
      std::set<std::string> all;
      for (const std::size_t node : region.before)
        for (const std::string& name : details_.before.nodes[node].outputs)
          if (const auto found = passes.find(name); found != passes.end())
            all.insert(found->second.begin(), found->second.end());
      region.clean_ups.assign(all.begin(), all.end());
      details_.regions.push_back(std::move(region));
    }
    const auto place = [](const ChangedRegion& region) {
      return std::pair(region.before.empty(), region.before.empty() ? 0 : region.before.front());
    };
    std::stable_sort(details_.regions.begin(), details_.regions.end(),
                     [&](const ChangedRegion& a, const ChangedRegion& b) { return place(a) < place(b); });
  }

  Details& details_;
  const Producers &before_, &after_;
  Sets sets_;
  std::vector<std::size_t> nodes_before_, nodes_after_, steps_;
};

/// Everything about the nodes of one side except names, and sizes if they do not count: equal texts mean equal regions.
std::string signature_of(const ModelDetails& model, const std::vector<std::size_t>& nodes, bool with_sizes) {
  std::unordered_map<std::string, std::string> known;  // names of values made here, by where
  std::string text;
  const auto type_of = [&](const std::string& name) {
    const auto type = model.types.find(name);
    return type == model.types.end() || !with_sizes ? std::string("?") : type->second;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeDetails& node = model.nodes[nodes[i]];
    text += node.op;
    for (std::size_t j = 0; with_sizes && j < node.attributes.size(); ++j)
      text += fmt::format(";{}={}", node.attributes[j].first, node.attributes[j].second);
    for (const std::string& input : node.inputs) {
      const auto made = known.find(input);
      text += made == known.end() ? fmt::format("({}", type_of(input)) : fmt::format("<{}", made->second);
    }
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      known[node.outputs[j]] = fmt::format("{}.{}", i, j);
      text += fmt::format("){}", type_of(node.outputs[j]));
    }
    text += "\n";
  }
  return text;
}

void find_alike(Details& details) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < details.regions.size(); ++i) {
    ChangedRegion& region = details.regions[i];
    const bool with_sizes = !region.steps.empty();  // a clean-up does the same at any size
    std::string text = signature_of(details.before, region.before, with_sizes) + "=>\n" +
                       signature_of(details.after, region.after, with_sizes);
    std::vector<std::string> rules;
    for (const std::size_t step : region.steps) rules.push_back(details.applied.steps[step].rule);
    std::sort(rules.begin(), rules.end());
    text += fmt::format("by {} {}", fmt::join(rules, ","), fmt::join(region.clean_ups, ","));
    region.like = first.emplace(std::move(text), i).first->second;
  }
}

/// Puts those with rewrites first, and among them those that save most together with their likes.
void sort_regions(Details& details) {
  std::map<std::size_t, double> saved;
  for (const ChangedRegion& region : details.regions) saved[region.like] += region.saved;
  std::stable_sort(details.regions.begin(), details.regions.end(), [&](const ChangedRegion& a, const ChangedRegion& b) {
    return std::pair(!a.steps.empty(), saved[a.like]) > std::pair(!b.steps.empty(), saved[b.like]);
  });
}

RuleDetails details_of_rule(const rules::Rule& rule) {
  RuleDetails details;
  details.name = rule.name;
  details.text = rules::print(rule);
  const auto [source, target] = rules::mathematics_of(rule);
  details.source = source;
  details.target = target;
  for (const rules::Condition& condition : rule.conditions)
    details.conditions.push_back(rules::mathematics_of(condition));
  details.by = rule.by;
  details.comments = rule.comments;
  return details;
}

}  // namespace

std::string_view name_of(NodeFate fate) {
  switch (fate) {
    case NodeFate::same: return "same";
    case NodeFate::rewired: return "rewired";
    case NodeFate::replaced: return "replaced";
    case NodeFate::cleaned: return "cleaned";
    case NodeFate::made: return "made";
  }
  return "";
}

Details compare_details(ModelDetails before, ModelDetails after, AppliedChanges applied,
                        const std::vector<rules::Rule>& rules) {
  Details details{std::move(before), std::move(after), {}, {}, {}, std::move(applied), {}};
  const Producers from = producers_of(details.before), to = producers_of(details.after);
  find_fates(details, from, to);
  RegionFinder(details, from, to).find();
  find_alike(details);
  sort_regions(details);
  find_alike(details);  // numbers have changed
  std::set<std::string> used;
  for (const rules::RewriteStep& step : details.applied.steps) used.insert(step.rule);
  for (const rules::Rule& rule : rules)
    if (used.contains(rule.name)) details.rules.push_back(details_of_rule(rule));
  return details;
}

}  // namespace taso::cli
