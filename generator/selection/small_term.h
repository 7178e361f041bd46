// Standalone terms, and equalities between them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "generator/enumeration/sample_inputs.h"
#include "generator/enumeration/values.h"

namespace taso::generator {

/// A standalone term; operands come first, the root is last.
struct SmallTerm {
  struct Node {
    static constexpr std::uint16_t input = 0xffff;
    std::uint16_t schema = input;
    std::uint8_t output = 0;
    std::vector<std::uint8_t> operands;  ///< indices of earlier nodes
    std::uint16_t place = 0;             ///< for an input
    auto operator<=>(const Node&) const = default;
  };
  std::vector<Node> nodes;
  std::size_t operators() const;
  auto operator<=>(const SmallTerm&) const = default;
};

/// Two lists of terms with the same results, one term per result.
struct Equality {
  std::vector<SmallTerm> left, right;
  std::size_t operators() const;  ///< of both sides; an operator used twice on a side counts once
};

/// The number of operators of a term as a tree: one that is used twice counts twice.
std::size_t tree_size(const SmallTerm& term);

/// The value of a term in a world; nothing if it is not well-formed there.
std::optional<Item> evaluate(const SmallTerm& term, const SampleInputs& world);
/// The same for given inputs, by place.
template <class S>
std::optional<ItemOf<S>> evaluate(const SmallTerm& term, const SampleInputs& world, std::span<const ItemOf<S>> inputs) {
  std::vector<ItemOf<S>> items;
  for (const SmallTerm::Node& node : term.nodes) {
    if (node.schema == SmallTerm::Node::input) {
      items.push_back(inputs[node.place]);
      continue;
    }
    std::vector<const ItemOf<S>*> operands;
    for (const std::uint8_t operand : node.operands) operands.push_back(&items[operand]);
    auto results = world.apply(world.family().schemas[node.schema], operands);
    if (!results) return std::nullopt;
    items.push_back(std::move((*results)[node.output]));
  }
  return std::move(items.back());
}
/// Renames inputs in the order of first use, for each kind from its first on.
Equality with_canonical_inputs(const Equality& equality, const Values& values);

}  // namespace taso::generator
