// Functions of rows: reductions, positions of extremes, the softmax family, normalisations, running sums.
//
// The integers of a row function are first the axes of its operand, each with its extent and whether it is a part of
// the row, neighbours merged. A normalisation has four more: scale and bias of the element at a place are at
// place / first % second, and at place / third % fourth.
#include <algorithm>

#include "cost/functions/formula.h"
#include "cost/functions/node.h"

namespace taso::cost {
namespace {

using Family = DeviceFunction::Family;

/// The axes as pairs of an extent and 1 if they are a part of the row, else 0. Axes of extent 1 are left out.
std::vector<std::int64_t> merged(const Extents& extents, const std::vector<bool>& is_row) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    if (!axes.empty() && (axes.back() != 0) == is_row[i])
      axes[axes.size() - 2] *= extents[i];
    else
      axes.insert(axes.end(), {extents[i], is_row[i] ? 1 : 0});
  }
  return axes;
}

std::optional<DeviceFunction> of_rows(const FunctionNode& node, std::string name, const std::vector<bool>& is_row,
                                      std::size_t operands = 1) {
  const RowFormula* const formula = find_row_formula(name);
  constexpr std::int64_t longest = std::int64_t{1} << 24;  // beyond it, a float cannot count
  std::int64_t length = 1;
  for (std::size_t i = 0; i < is_row.size(); ++i)
    if (is_row[i]) length *= node.extents(0)[i];
  const ElementType element = node.element(0);
  if (formula == nullptr || length == 0 || length > longest || node.results.size() != 1) return std::nullopt;
  if (!is_floating(element) && !formula->has_whole) return std::nullopt;
  if (element == ElementType::boolean && name != "ReduceMax" && name != "ReduceMin") return std::nullopt;
  DeviceFunction function{.name = std::move(name)};
  function.integers = merged(node.extents(0), is_row);
  for (std::size_t i = 0; i < operands; ++i) function.operands.push_back(node.has(i) ? std::optional(i) : std::nullopt);
  return function;
}

std::optional<DeviceFunction> reduction(const FunctionNode& node) {
  const std::string& name = node.node.name;
  const Attributes& attributes = node.node.attributes;
  std::optional<std::vector<std::int64_t>> axes;
  if (node.node.opset >= (name == "ReduceSum" ? 13 : 18)) {
    if (node.has(1) && !(axes = node.integers(1))) return std::nullopt;
  } else if (attributes.has("axes")) {
    axes = attributes.integers("axes");
  }
  const bool none = !axes || axes->empty();
  if (none && attributes.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  std::vector<bool> is_row(node.rank(), none);
  if (!none)
    for (const std::int64_t given : *axes) {
      const auto axis = FunctionNode::axis_in(given, node.rank());
      if (!axis) return std::nullopt;
      is_row[*axis] = true;
    }
  return of_rows(node, name, is_row);
}

std::optional<DeviceFunction> along_axis(const FunctionNode& node, std::string name, std::int64_t otherwise) {
  std::vector<bool> is_row(node.rank(), false);
  const auto axis = FunctionNode::axis_in(node.node.attributes.integer("axis", otherwise), node.rank());
  if (!axis) return std::nullopt;
  is_row[*axis] = true;
  return of_rows(node, std::move(name), is_row);
}

/// Instance and group normalisation: [N, C, ...] in groups of channels.
std::optional<DeviceFunction> by_channels(const FunctionNode& node) {
  if (node.rank() < 2 || !node.has(1) || !node.has(2)) return std::nullopt;
  const Extents& x = node.extents(0);
  const std::int64_t channels = x[1];
  const bool is_group = node.node.name == "GroupNormalization";
  const std::int64_t groups = is_group ? node.node.attributes.integer("num_groups", 0) : channels;
  if (groups <= 0 || channels % groups != 0) return std::nullopt;
  // Up to opset 20 there is one scale per group, then one per channel.
  const std::int64_t scales = is_group && node.node.opset < 21 ? groups : channels;
  for (const std::size_t operand : {1U, 2U})
    if (count(node.extents(operand)) != scales || !is_floating(node.element(operand))) return std::nullopt;
  std::int64_t plane = 1;
  for (std::size_t i = 2; i < x.size(); ++i) plane *= x[i];
  std::optional<DeviceFunction> function = of_rows(
      node, "Normalization",
      [&] {
        std::vector<bool> is_row(x.size(), true);
        is_row[0] = is_row[1] = false;
        return is_row;
      }(),
      3);
  if (!function) return std::nullopt;
  function->integers = merged({x[0] * groups, channels / groups * plane}, {false, true});
  const std::int64_t each = channels / scales * plane;
  function->integers.insert(function->integers.end(), {each, scales, each, scales});
  function->numbers = {node.node.attributes.number("epsilon", 1e-5)};
  return function;
}

/// Layer normalisation, with or without mean, of the axes from one on.
std::optional<DeviceFunction> by_last_axes(const FunctionNode& node) {
  const bool is_centred = node.node.name == "LayerNormalization";
  const auto axis = FunctionNode::axis_in(node.node.attributes.integer("axis", -1), node.rank());
  if (!axis || !node.has(1) || (!is_centred && node.has(2))) return std::nullopt;
  const Extents row(node.extents(0).begin() + static_cast<std::ptrdiff_t>(*axis), node.extents(0).end());
  std::vector<std::int64_t> places;
  for (const std::size_t operand : {1U, 2U}) {
    places.push_back(1);
    places.push_back(node.has(operand) ? count(node.extents(operand)) : 1);
    if (!node.has(operand)) continue;
    if (!is_floating(node.element(operand))) return std::nullopt;
    if (node.extents(operand) != row && places.back() != 1) return std::nullopt;
  }
  std::vector<bool> is_row(node.rank(), false);
  std::fill(is_row.begin() + static_cast<std::ptrdiff_t>(*axis), is_row.end(), true);
  auto function = of_rows(node, is_centred ? "Normalization" : "RMSNormalization", is_row, 3);
  if (!function) return std::nullopt;
  function->integers.insert(function->integers.end(), places.begin(), places.end());
  function->numbers = {node.node.attributes.number("epsilon", 1e-5)};
  return function;
}

/// Integers: outer, length and inner extents, exclusive, reverse, whether it multiplies.
std::optional<DeviceFunction> running(const FunctionNode& node) {
  const auto given = node.integers(1);
  if (!given || given->size() != 1 || node.element(0) == ElementType::boolean) return std::nullopt;
  const auto axis = FunctionNode::axis_in(given->front(), node.rank());
  if (!axis) return std::nullopt;
  DeviceFunction function{.name = "CumSum", .integers = {1, 1, 1}, .operands = {0}};
  for (std::size_t i = 0; i < node.rank(); ++i)
    function.integers[i < *axis ? 0 : i == *axis ? 1 : 2] *= node.extents(0)[i];
  for (const std::string_view flag : {"exclusive", "reverse"})
    function.integers.push_back(node.node.attributes.integer(flag, 0) != 0);
  function.integers.push_back(node.node.name == "CumProd");
  return function;
}

}  // namespace

std::optional<DeviceFunction> row_function(const FunctionNode& node) {
  const std::string& name = node.node.name;
  const Attributes& attributes = node.node.attributes;
  if (node.results.size() != 1) return std::nullopt;
  if (name == "ArgMax" || name == "ArgMin")
    return along_axis(node, attributes.integer("select_last_index", 0) != 0 ? name + "_last" : name, 0);
  if (name.starts_with("Reduce")) return reduction(node);
  if (name == "Softmax" || name == "LogSoftmax" || name == "Hardmax")
    return node.node.opset < 13 ? std::nullopt : along_axis(node, name, -1);
  if (name == "InstanceNormalization" || name == "GroupNormalization") return by_channels(node);
  if (name == "LayerNormalization" || name == "RMSNormalization") return by_last_axes(node);
  if (name == "LpNormalization")
    return along_axis(node, attributes.integer("p", 2) == 1 ? "LpNormalization_1" : "LpNormalization_2", -1);
  if (name == "CumSum" || name == "CumProd") return running(node);
  if (name == "MeanVarianceNormalization") {
    std::vector<bool> is_row(node.rank(), false);
    for (const std::int64_t given : attributes.integers("axes", {0, 2, 3})) {
      const auto axis = FunctionNode::axis_in(given, node.rank());
      if (!axis) return std::nullopt;
      is_row[*axis] = true;
    }
    return of_rows(node, name, is_row);
  }
  if (name == "GlobalLpPool" && node.rank() > 1) {
    std::vector<bool> is_row(node.rank(), true);
    is_row[0] = is_row[1] = false;
    auto function = of_rows(node, "ReduceLp", is_row);
    if (function) function->numbers = {static_cast<double>(attributes.integer("p", 2))};
    return function;
  }
  return std::nullopt;
}

}  // namespace taso::cost
