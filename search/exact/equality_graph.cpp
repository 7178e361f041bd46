#include "search/exact/equality_graph.h"

#include <algorithm>
#include <memory>

#include "ops/core/error.h"
#include "search/exact/equality_matching.h"

namespace taso::search {

EqualityGraph::EqualityGraph(Store& store, const Program& program) : store_(store) {
  add_program(program);
  for (const ValueId output : program.outputs()) outputs_.push_back(output);
  rebuild();
}

void EqualityGraph::add_equal(const Program& program) {
  check(program.outputs().size() == outputs_.size(), "equal graphs have the same outputs");
  add_program(program);
  for (std::size_t i = 0; i < outputs_.size(); ++i) unite(outputs_[i], program.outputs()[i]);
  rebuild();
}

void EqualityGraph::add_program(const Program& program) {
  for (const ComputationId id : program.computations()) {
    const std::size_t node = add(id);
    for (std::size_t i = 0; i < nodes_[node].results.size(); ++i)
      if (const ValueId name = program.results(id)[i]; name != no_value) unite(nodes_[node].results[i], name);
  }
}

ValueId EqualityGraph::find(ValueId value) const {
  if (place(value) >= parents_.size())
    for (std::size_t i = parents_.size(); i < std::max(store_.values(), place(value) + 1); ++i)
      parents_.push_back(ValueId{static_cast<std::uint32_t>(i)});
  while (parents_[place(value)] != value) value = parents_[place(value)] = parents_[place(parents_[place(value)])];
  return value;
}

void EqualityGraph::freeze(const std::unordered_set<ComputationId>& computations) {
  for (const ComputationId id : computations)
    if (const auto found = node_of(id)) nodes_[*found].is_frozen = true;
}

std::size_t EqualityGraph::node(std::size_t index) const {
  while (!nodes_[index].is_there) index = nodes_[index].same;
  return index;
}

std::optional<std::size_t> EqualityGraph::node_of(ComputationId id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional(node(found->second));
}

std::optional<std::size_t> EqualityGraph::node_like(ComputationId id, std::vector<ValueId> classes) const {
  return node_of(store_.with_operands(id, std::move(classes)));
}

bool EqualityGraph::unite(ValueId a, ValueId b) {
  a = find(a);
  b = find(b);
  if (a == b) return false;
  parents_[place(std::max(a, b))] = std::min(a, b);  // the older one stays
  return true;
}

std::size_t EqualityGraph::add(ComputationId id) {
  const auto [found, is_new] = places_.emplace(id, nodes_.size());
  if (is_new) {
    Node node;
    node.computation = id;
    for (std::size_t i = 0; i < store_[id].results; ++i) node.results.push_back(store_.result(id, i, 0));
    nodes_.push_back(std::move(node));
  }
  return found->second;
}

void EqualityGraph::rebuild() {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].is_there) continue;
      std::vector<ValueId> operands = store_[nodes_[i].computation].operands;
      bool is_moved = false;
      for (ValueId& operand : operands) {
        if (operand == no_value) continue;
        const ValueId now = find(operand);
        is_moved = is_moved || now != operand;
        operand = now;
      }
      if (!is_moved) continue;
      const ComputationId id = store_.with_operands(nodes_[i].computation, std::move(operands));
      const std::size_t other = add(id);
      nodes_[i].is_there = false;
      nodes_[i].same = other;
      nodes_[other].is_frozen = nodes_[other].is_frozen || nodes_[i].is_frozen;
      for (std::size_t k = 0; k < nodes_[i].results.size(); ++k) unite(nodes_[i].results[k], nodes_[other].results[k]);
      changed = true;
    }
  }
  computed_by_.assign(store_.values(), {});
  used_by_.assign(store_.values(), {});
  size_ = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.is_there) continue;
    ++size_;
    for (ValueId& result : node.results) {
      result = find(result);
      computed_by_[place(result)].push_back(i);
    }
    std::vector<ValueId> operands = store_[node.computation].operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (const ValueId operand : operands)
      if (operand != no_value) used_by_[place(operand)].push_back(i);
  }
  for (ValueId& output : outputs_) output = find(output);
}

bool EqualityGraph::touches_frozen(const Match& match) const {
  const auto& nodes = match.rule->nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].input || store_[match.source[i]].weight_only) continue;
    if (const auto found = node_of(match.source[i]); found && nodes_[*found].is_frozen) return true;
  }
  return false;
}

std::vector<std::size_t> EqualityGraph::apply(const Match& match) {
  std::vector<std::size_t> made;
  const auto value_of = [&](const TargetNode::Operand& operand) {
    return find(operand.is_input ? match.inputs[operand.index] : nodes_[made[operand.index]].results[operand.output]);
  };
  for (const TargetNode& node : match.target) {
    std::vector<ValueId> operands;
    for (const TargetNode::Operand& operand : node.operands) operands.push_back(value_of(operand));
    made.push_back(add(store_.apply(*node.op, std::move(operands))));
  }
  for (std::size_t i = 0; i < match.roots.size(); ++i) unite(match.roots[i], value_of(match.results[i]));
  return made;
}

EqualityGraph::End EqualityGraph::saturate(const std::vector<const RewriteRule*>& rules,
                                           const SaturationOptions& options) {
  std::vector<std::vector<const RewriteRule*>> by_kind(all_operators().size());
  for (const RewriteRule* rule : rules) by_kind[rule->nodes()[rule->roots()[0]].kind].push_back(rule);
  End end;
  while (end.rounds < options.most_rounds) {
    std::vector<Match> matches;
    bool is_complete = true;
    const std::size_t values = store_.values();
    for (std::size_t i = 0; i < nodes_.size() && is_complete; ++i) {
      const Computation& computation = store_[nodes_[i].computation];
      if (!nodes_[i].is_there || computation.op == nullptr || computation.weight_only) continue;
      for (const RewriteRule* rule : by_kind[computation.kind()])
        find_matches(store_, *this, *rule, i, [&](Match match) {
          if (touches_frozen(match)) return true;
          matches.push_back(std::move(match));
          is_complete = matches.size() < options.most_matches;
          return is_complete;
        });
      if (options.should_end && options.should_end()) is_complete = false;
    }
    check(store_.values() == values, "matching makes no values");
    end.matches += matches.size();
    const std::size_t before = nodes_.size();
    bool united = false;
    for (Match& match : matches) {
      if (size_ + nodes_.size() - before > options.most_computations) {
        is_complete = false;
        break;
      }
      std::vector<ValueId> roots;
      for (const ValueId root : match.roots) roots.push_back(find(root));
      std::vector<std::size_t> made = apply(match);
      for (std::size_t i = 0; i < roots.size(); ++i) united = united || find(roots[i]) != roots[i];
      if (options.keeps_steps) steps_.push_back({std::move(match), std::move(made)});
    }
    const std::size_t size = size_;
    rebuild();
    if (!is_complete) return end;
    ++end.rounds;
    if (size_ == size && nodes_.size() == before) {
      end.is_saturated = !united;
      if (end.is_saturated) return end;
    }
  }
  return end;
}

}  // namespace taso::search
