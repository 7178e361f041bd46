#include "onnx/cleanup/folded_constants.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ops/core/error.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {
namespace {

bool is_finite(const Array& array) {
  bool finite = true;
  with_element_type(array.type(), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      for (const T value : array.values<T>()) finite = finite && std::isfinite(value);
    } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      for (const T value : array.values<T>()) finite = finite && std::isfinite(static_cast<float>(value));
    }
  });
  return finite;
}

/// Whether every number in the result is a number of an operand, or 0.
bool only_moves(const Operator& op) {
  return std::holds_alternative<op::Concat>(op) || std::holds_alternative<op::Split>(op) ||
         std::holds_alternative<op::Slice>(op) || std::holds_alternative<op::Transpose>(op) ||
         std::holds_alternative<op::Reshape>(op) || std::holds_alternative<op::Pad>(op) ||
         std::holds_alternative<op::Enlarge>(op);
}

/// The node and all nodes that it is computed from.
std::vector<const Node*> nodes_behind(const Node& node) {
  std::vector<const Node*> all{&node};
  std::unordered_set<const Node*> seen{&node};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Value& operand : all[i]->inputs())
      if (operand && seen.insert(operand.node).second) all.push_back(operand.node);
  return all;
}

}  // namespace

bool FoldedConstants::is_constant(const Node& start) {
  std::vector<const Node*> stack{&start};
  while (!stack.empty()) {
    const Node& node = *stack.back();
    if (constant_.contains(&node)) {
      stack.pop_back();
      continue;
    }
    bool constant = node.as_constant() != nullptr && node.as_constant()->weight != nullptr;
    if (node.as_operator() != nullptr) {
      constant = true;
      const std::size_t before = stack.size();
      for (const Value& operand : node.inputs()) {
        const auto known = operand ? constant_.find(operand.node) : constant_.end();
        if (operand && known == constant_.end()) stack.push_back(operand.node);
        constant = constant && operand && (known == constant_.end() || known->second);
      }
      if (constant && stack.size() != before) continue;
      stack.resize(before);
    }
    constant_[&node] = constant;
    stack.pop_back();
  }
  return constant_.at(&start);
}

const std::vector<Array>* FoldedConstants::of(const Node& node) {
  const auto [place, is_new] = computed_.try_emplace(&node);
  if (is_new) {
    Graph graph;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) graph.outputs.push_back(node.output(i));
    try {
      const ArrayLimit limit(std::size_t{1} << 30);
      // Use the plain definitions, which give the same result on every machine.
      place->second = runtime::interpret(graph, {}, {.threads = 1, .plain = true});
    } catch (const InputError&) {
      place->second.clear();
    }
  }
  return place->second.empty() ? nullptr : &place->second;
}

bool FoldedConstants::is_usable(const Value& value) {
  if (value.node->as_operator() == nullptr || !is_constant(*value.node)) return true;
  const std::vector<const Node*> behind = nodes_behind(*value.node);
  if (std::all_of(behind.begin(), behind.end(),
                  [](const Node* node) { return node->as_operator() == nullptr || only_moves(*node->as_operator()); }))
    return true;
  const std::vector<Array>* const results = of(*value.node);
  if (results == nullptr || is_finite((*results)[value.output])) return true;
  return !std::all_of(behind.begin(), behind.end(), [](const Node* node) {
    return node->as_constant() == nullptr || is_finite(node->as_constant()->weight->load());
  });
}

}  // namespace taso::onnx
