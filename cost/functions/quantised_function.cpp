// Products of quantised numbers, and numbers quantised by their range. The operands of a product are ordered: both
// factors, their zero points, their scales, scale and zero point of the result, bias. Its last integer is the depth.
#include <algorithm>

#include "cost/functions/node.h"

namespace taso::cost {
namespace {

using Made = std::optional<DeviceFunction>;

bool is_byte(ElementType element) { return element == ElementType::int8 || element == ElementType::uint8; }

/// Whether an operand is a single number, or has one for each of so many rows, columns or channels.
bool fits(const FunctionNode& node, std::optional<std::size_t> operand, std::int64_t each) {
  if (!operand) return true;
  const Extents& extents = node.extents(*operand);
  return count(extents) == 1 || extents == Extents{each};
}

/// The operands of the product in our order; nothing if one is missing or has another type.
std::optional<std::vector<std::optional<std::size_t>>> ordered(const FunctionNode& node) {
  const bool has_scales = node.node.name.starts_with("QLinear");
  const std::vector<std::size_t> order =
      has_scales ? std::vector<std::size_t>{0, 3, 2, 5, 1, 4, 6, 7, 8} : std::vector<std::size_t>{0, 1, 2, 3};
  std::vector<std::optional<std::size_t>> operands;
  for (const std::size_t operand : order) {
    operands.push_back(node.has(operand) ? std::optional(operand) : std::nullopt);
    if (!operands.back() && (has_scales ? operand != 8 : operand < 2)) return std::nullopt;
  }
  const std::size_t a = order[0], b = order[1];
  if (!is_byte(node.element(a)) || !is_byte(node.element(b))) return std::nullopt;
  for (const std::size_t i : {0U, 1U})
    if (operands[2 + i] && node.element(*operands[2 + i]) != node.element(order[i])) return std::nullopt;
  if (!has_scales) return operands;
  for (const std::size_t scale : {1U, 4U, 6U})
    if (node.element(scale) != ElementType::float32) return std::nullopt;
  if (node.element(7) != node.results[0].element || !is_byte(node.element(7))) return std::nullopt;
  if (count(node.extents(6)) != 1 || count(node.extents(7)) != 1) return std::nullopt;
  if (operands[8] && node.element(8) != ElementType::int32) return std::nullopt;
  return operands;
}

Made matmul(const FunctionNode& node) {
  const auto operands = ordered(node);
  if (!operands) return std::nullopt;
  const Extents &a = node.extents(*(*operands)[0]), &b = node.extents(*(*operands)[1]);
  const Extents& result = node.results[0].extents;
  if (a.size() < 2 || b.size() < 2 || result.size() != std::max(a.size(), b.size())) return std::nullopt;
  const std::int64_t rows = a[a.size() - 2], columns = b.back();
  for (std::size_t i = 2; i < operands->size(); ++i)  // those of the left factor are 2 and 4
    if (i < 6 && !fits(node, (*operands)[i], i % 2 == 0 ? rows : columns)) return std::nullopt;
  return DeviceFunction{.name = node.node.name, .integers = {a.back()}, .operands = *operands};
}

/// Integers: groups; then stride, dilation and pad before of each axis; depth.
Made convolution(const FunctionNode& node) {
  const auto operands = ordered(node);
  if (!operands) return std::nullopt;
  const Attributes& attributes = node.node.attributes;
  const Extents &x = node.extents(*(*operands)[0]), &w = node.extents(*(*operands)[1]);
  if (attributes.text("auto_pad", "NOTSET") != "NOTSET" || x.size() < 3 || w.size() != x.size()) return std::nullopt;
  const std::size_t rank = x.size() - 2;
  const std::vector<std::int64_t> ones(rank, 1);
  const auto strides = attributes.integers("strides", ones), dilations = attributes.integers("dilations", ones);
  const auto pads = attributes.integers("pads", std::vector<std::int64_t>(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) return std::nullopt;
  for (std::size_t i = 2; i < operands->size(); ++i)
    if (!fits(node, (*operands)[i], i % 2 == 0 && i < 8 ? 1 : w[0])) return std::nullopt;
  DeviceFunction function{.name = node.node.name, .integers = {attributes.integer("group", 1)}};
  for (std::size_t i = 0; i < rank; ++i)
    function.integers.insert(function.integers.end(), {strides[i], dilations[i], pads[i]});
  function.integers.push_back(count(w) / std::max<std::int64_t>(w[0], 1));
  function.operands = *operands;
  return function;
}

/// All three results are needed, because the kernel that quantises reads the others.
Made dynamic(const FunctionNode& node) {
  if (node.element(0) != ElementType::float32 || node.results.size() != 3 || count(node.extents(0)) == 0)
    return std::nullopt;
  for (const FunctionNode::Side& result : node.results)
    if (result.element == ElementType::undefined) return std::nullopt;
  return DeviceFunction{.name = node.node.name, .operands = {0}};
}

}  // namespace

std::optional<DeviceFunction> quantised_function(const FunctionNode& node) {
  const std::string& name = node.node.name;
  if (name == "DynamicQuantizeLinear") return dynamic(node);
  if (node.results.size() != 1) return std::nullopt;
  if (name == "MatMulInteger" || name == "QLinearMatMul") return matmul(node);
  if (name == "ConvInteger" || name == "QLinearConv") return convolution(node);
  return std::nullopt;
}

}  // namespace taso::cost
