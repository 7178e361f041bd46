// Element functions: which formula computes a node, and whether its types and extents fit.
#include <algorithm>

#include "cost/functions/formula.h"
#include "cost/functions/node.h"

namespace taso::cost {
namespace {

bool is_among(ElementType element, std::initializer_list<ElementType> types) {
  return std::find(types.begin(), types.end(), element) != types.end();
}

bool broadcasts(const FunctionNode& node) {
  const Extents& result = node.results[0].extents;
  std::vector<bool> is_met(result.size(), false);
  for (const FunctionNode::Side& operand : node.operands) {
    if (operand.element == ElementType::undefined) continue;
    const Extents& extents = operand.extents;
    if (extents.size() > result.size()) return false;
    const std::size_t more = result.size() - extents.size();
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] == result[more + i])
        is_met[more + i] = true;
      else if (extents[i] != 1)
        return false;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!is_met[i] && result[i] != 1) return false;
  return true;
}

/// The axis of scales and zero points; 0 if there is a single one; nothing if they do not fit.
std::optional<std::int64_t> axis_of_scales(const FunctionNode& node) {
  const Extents& whole = node.extents(0);
  if (node.results[0].extents != whole) return std::nullopt;
  const auto is_single = [](const FunctionNode::Side& side) { return count(side.extents) == 1; };
  if (std::all_of(node.operands.begin() + 1, node.operands.end(), is_single)) return 0;
  const auto axis = FunctionNode::axis_in(node.node.attributes.integer("axis", 1), whole.size());
  if (!axis) return std::nullopt;
  for (std::size_t i = 1; i < node.operands.size(); ++i)
    if (node.extents(i) != Extents{whole[*axis]}) return std::nullopt;
  return static_cast<std::int64_t>(*axis);
}

bool is_small_float(ElementType element) {
  return is_among(element, {ElementType::float32, ElementType::float16, ElementType::bfloat16});
}

std::optional<DeviceFunction> quantising(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  // Blockwise scales, and quotients rounded to fewer bits, are left to the host.
  if (attributes.integer("block_size", 0) != 0 || attributes.integer("precision", 0) != 0) return std::nullopt;
  const bool quantises = node.node.name == "QuantizeLinear";
  const std::size_t size = node.operands.size();
  if (size < 2 || size > 3) return std::nullopt;
  const ElementType real = node.element(quantises ? 0 : 1), result = node.results[0].element;
  if (size == 3 && node.element(2) != (quantises ? result : node.element(0))) return std::nullopt;
  if (!is_small_float(real)) return std::nullopt;
  if (quantises) {
    // Whether quotients by scales of lower precision are rounded to that precision depends on the opset.
    if (node.element(1) != ElementType::float32 ||
        !is_among(result, {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16}))
      return std::nullopt;
  } else if (!is_among(node.element(0), {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16,
                                         ElementType::int32, ElementType::uint32}) ||
             !is_small_float(result)) {
    return std::nullopt;
  }
  const auto axis = axis_of_scales(node);
  if (!axis) return std::nullopt;
  return DeviceFunction{.name = node.node.name, .integers = {*axis}};
}

/// The variant of an operator, and its attributes.
struct Variant {
  std::string name;
  std::vector<double> numbers = {};
  std::vector<std::size_t> operands = {};  ///< all, if empty
};

Variant variant_of(const FunctionNode& node) {
  const std::string& name = node.node.name;
  const Attributes& attributes = node.node.attributes;
  const auto numbers = [&](std::initializer_list<std::pair<std::string_view, double>> list) {
    std::vector<double> values;
    for (const auto& [attribute, otherwise] : list) values.push_back(attributes.number(attribute, otherwise));
    return Variant{name, values};
  };
  const auto flag = [&](std::string_view attribute) {
    return static_cast<double>(attributes.integer(attribute, 1) != 0);
  };
  if (name == "Celu" || name == "Elu" || name == "Swish" || name == "ThresholdedRelu") return numbers({{"alpha", 1}});
  if (name == "LeakyRelu") return numbers({{"alpha", 0.01}});
  if (name == "HardSigmoid") return numbers({{"alpha", 0.2}, {"beta", 0.5}});
  if (name == "Selu") return numbers({{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
  if (name == "Shrink") return numbers({{"bias", 0}, {"lambd", 0.5}});
  if (name == "IsInf") return {name, {flag("detect_negative"), flag("detect_positive")}};
  if (name == "Gelu") return {attributes.text("approximate", "none") == "tanh" ? "Gelu_tanh" : name};
  if (name == "Mod") return {attributes.integer("fmod", 0) != 0 ? "Mod_fmod" : name};
  if (name == "BitShift") return {attributes.text("direction", "") == "LEFT" ? "BitShift_left" : "BitShift_right"};
  if (name == "Clip") {
    if (node.node.opset < 11) return {};  // the bounds are attributes
    const bool below = node.has(1), above = node.has(2);
    if (below && above) return {name, {}, {0, 1, 2}};
    if (below || above) return {below ? "Clip_below" : "Clip_above", {}, {0, below ? 1U : 2U}};
    return {};
  }
  if (name == "Pow" && node.operands.size() == 2 && is_floating(node.element(0)) && node.element(0) != node.element(1))
    return {is_integer(node.element(1)) ? "Pow_whole" : "Pow_mixed"};
  return {name};
}

bool has_types(Signature signature, const FunctionNode& node, const std::vector<std::size_t>& operands) {
  const ElementType first = node.element(operands[0]), result = node.results[0].element;
  const auto all_are = [&](std::size_t begin, ElementType element) {
    return std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(begin), operands.end(),
                       [&](std::size_t operand) { return node.element(operand) == element; });
  };
  switch (signature) {
    case Signature::floating: return is_floating(first) && all_are(0, first) && result == first;
    case Signature::number: return first != ElementType::boolean && all_are(0, first) && result == first;
    case Signature::whole: return is_integer(first) && all_are(0, first) && result == first;
    case Signature::logical: return all_are(0, ElementType::boolean) && result == ElementType::boolean;
    case Signature::test: return is_floating(first) && result == ElementType::boolean;
    case Signature::compare: return all_are(0, first) && result == ElementType::boolean;
    case Signature::choose: return first == ElementType::boolean && all_are(1, result);
    case Signature::power: {
      // The sign of the widest integers would be lost.
      const ElementType exponent = node.element(operands[1]);
      if (result != first || first == ElementType::boolean || exponent == ElementType::boolean) return false;
      return is_floating(first) ||
             (is_integer(exponent) && first != ElementType::uint64 && exponent != ElementType::uint64);
    }
    case Signature::quantise: break;
  }
  return false;
}

}  // namespace

std::optional<DeviceFunction> element_function(const FunctionNode& node) {
  if (node.results.size() != 1) return std::nullopt;
  if (node.node.name == "QuantizeLinear" || node.node.name == "DequantizeLinear") {
    auto function = quantising(node);
    if (function)
      for (std::size_t i = 0; i < node.operands.size(); ++i) function->operands.emplace_back(i);
    return function;
  }
  Variant variant = variant_of(node);
  const ElementFormula* const formula = find_element_formula(variant.name);
  if (formula == nullptr) return std::nullopt;
  if (variant.operands.empty())
    for (std::size_t i = 0; i < node.operands.size(); ++i) variant.operands.push_back(i);
  if (formula->operands != 0 && formula->operands != variant.operands.size()) return std::nullopt;
  for (const std::size_t operand : variant.operands)
    if (!node.has(operand)) return std::nullopt;
  if (!has_types(formula->signature, node, variant.operands) || !broadcasts(node)) return std::nullopt;
  DeviceFunction function{.name = std::move(variant.name), .numbers = std::move(variant.numbers)};
  function.operands.assign(variant.operands.begin(), variant.operands.end());
  return function;
}

}  // namespace taso::cost
