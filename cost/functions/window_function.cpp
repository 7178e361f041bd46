// Functions of windows and of small matrices. The comment before each maker says what the integers of its function are.
#include "cost/functions/node.h"

namespace taso::cost {
namespace {

using Made = std::optional<DeviceFunction>;

struct Steps {
  std::vector<std::int64_t> strides, dilations, pads;
};

/// Nothing if padding depends on the sizes, or if a list does not fit.
std::optional<Steps> steps_of(const FunctionNode& node, std::size_t rank) {
  const Attributes& attributes = node.node.attributes;
  if (attributes.text("auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const std::vector<std::int64_t> ones(rank, 1);
  Steps steps{attributes.integers("strides", ones), attributes.integers("dilations", ones),
              attributes.integers("pads", std::vector<std::int64_t>(2 * rank, 0))};
  if (steps.strides.size() != rank || steps.dilations.size() != rank || steps.pads.size() != 2 * rank)
    return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i)
    if (steps.strides[i] < 1 || steps.dilations[i] < 1 || steps.pads[i] < 0) return std::nullopt;
  return steps;
}

/// The norm; then extent, stride, dilation and padding before of the window along each axis.
Made lp_pool(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  if (node.rank() < 3 || !is_floating(node.element(0)) || count(node.extents(0)) == 0) return std::nullopt;
  const std::size_t rank = node.rank() - 2;
  const auto steps = steps_of(node, rank);
  const std::vector<std::int64_t> kernel = attributes.integers("kernel_shape");
  const std::int64_t norm = attributes.integer("p", 2);
  if (!steps || kernel.size() != rank || norm < 1) return std::nullopt;
  DeviceFunction function{.name = node.node.name, .integers = {norm}, .operands = {0}};
  for (std::size_t i = 0; i < rank; ++i)
    function.integers.insert(function.integers.end(),
                             {kernel[i], steps->strides[i], steps->dilations[i], steps->pads[i]});
  return function;
}

/// Of each axis: the extent of the block, stride, dilation, padding before, and the number of blocks.
Made column_to_image(const FunctionNode& node) {
  const auto image = node.integers(1), block = node.integers(2);
  if (node.rank() != 3 || !is_floating(node.element(0)) || !image || !block) return std::nullopt;
  const std::size_t rank = image->size();
  const auto steps = steps_of(node, rank);
  if (!steps || block->size() != rank || node.results[0].extents.size() != rank + 2) return std::nullopt;
  DeviceFunction function{.name = node.node.name, .operands = {0}};
  std::int64_t blocks = 1, elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = (*block)[i] < 1 ? 0 : ((*block)[i] - 1) * steps->dilations[i] + 1;
    const std::int64_t span = (*image)[i] + steps->pads[i] + steps->pads[rank + i] - reach;
    if (reach == 0 || span < 0 || (*image)[i] != node.results[0].extents[2 + i]) return std::nullopt;
    const std::int64_t places = span / steps->strides[i] + 1;
    function.integers.insert(function.integers.end(),
                             {(*block)[i], steps->strides[i], steps->dilations[i], steps->pads[i], places});
    blocks *= places;
    elements *= (*block)[i];
  }
  const Extents& x = node.extents(0);
  return x[1] == node.results[0].extents[1] * elements && x[2] == blocks ? Made(function) : std::nullopt;
}

/// The rows of each matrix, which a thread keeps.
Made determinant(const FunctionNode& node) {
  constexpr std::int64_t largest = 16;
  const Extents& x = node.extents(0);
  if (x.size() < 2 || !is_floating(node.element(0)) || x.back() != x[x.size() - 2]) return std::nullopt;
  if (x.back() < 1 || x.back() > largest) return std::nullopt;
  return DeviceFunction{.name = node.node.name, .integers = {x.back()}, .operands = {0}};
}

}  // namespace

std::optional<DeviceFunction> window_function(const FunctionNode& node) {
  const std::string& name = node.node.name;
  if (node.results.size() != 1) return std::nullopt;
  if (name == "LpPool" && node.node.opset >= 11) return lp_pool(node);
  if (name == "Col2Im") return column_to_image(node);
  if (name == "Det") return determinant(node);
  return std::nullopt;
}

double operations_of_window(const DeviceFunction& function) {
  const std::vector<std::int64_t>& integers = function.integers;
  double elements = 1;
  if (function.name == "Det") {
    const auto rows = static_cast<double>(integers[0]);
    return 4 * rows * rows * rows;
  }
  const bool is_pool = function.name == "LpPool";
  for (std::size_t i = is_pool ? 1 : 0; i < integers.size(); i += is_pool ? 4 : 5)
    elements *= static_cast<double>(integers[i]);
  const bool has_powers = is_pool && integers[0] > 2;
  return elements * (has_powers ? 60 : 6);
}

}  // namespace taso::cost
