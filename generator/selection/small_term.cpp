#include "generator/selection/small_term.h"

#include <map>
#include <set>

namespace taso::generator {

std::size_t tree_size(const SmallTerm& term) {
  std::vector<std::size_t> sizes;
  for (const SmallTerm::Node& node : term.nodes) {
    std::size_t size = node.schema == SmallTerm::Node::input ? 0 : 1;
    for (const std::uint8_t operand : node.operands) size += sizes[operand];
    sizes.push_back(size);
  }
  return sizes.back();
}

std::size_t SmallTerm::operators() const {
  std::set<std::pair<std::uint16_t, std::vector<std::uint8_t>>> all;  // both results of a split belong to one operator
  for (const Node& node : nodes)
    if (node.schema != Node::input) all.emplace(node.schema, node.operands);
  return all.size();
}

std::size_t Equality::operators() const {
  std::size_t count = 0;
  for (const auto* side : {&left, &right})
    for (const SmallTerm& term : *side) count += term.operators();
  return count;
}

std::optional<Item> evaluate(const SmallTerm& term, const SampleInputs& world) {
  return evaluate<Field>(term, world, world.all_inputs());
}

Equality with_canonical_inputs(const Equality& equality, const Values& values) {
  Equality result = equality;
  std::map<std::uint16_t, std::uint16_t> renamed;
  std::vector<std::size_t> next = values.firsts;
  for (auto* side : {&result.left, &result.right})
    for (SmallTerm& term : *side)
      for (SmallTerm::Node& node : term.nodes) {
        if (node.schema != SmallTerm::Node::input) continue;
        const auto [slot, fresh] = renamed.try_emplace(node.place, std::uint16_t{0});
        if (fresh) slot->second = static_cast<std::uint16_t>(next[values.kinds[node.place]]++);
        node.place = slot->second;
      }
  return result;
}

}  // namespace taso::generator
