// Functions that take each result element from places of their operands. The comment before each maker says what the
// integers and numbers of its function are.
#include <algorithm>
#include <cmath>

#include "cost/functions/node.h"

namespace taso::cost {
namespace {

using Made = std::optional<DeviceFunction>;
using Operands = std::vector<std::optional<std::size_t>>;

DeviceFunction of_places(std::string name, std::vector<std::int64_t> integers, Operands operands) {
  return {.name = std::move(name), .integers = std::move(integers), .operands = std::move(operands)};
}

std::optional<std::int64_t> axis_of(const FunctionNode& node, std::int64_t otherwise, std::size_t rank) {
  const auto axis = FunctionNode::axis_in(node.node.attributes.integer("axis", otherwise), rank);
  return axis ? std::optional(static_cast<std::int64_t>(*axis)) : std::nullopt;
}

/// The axis.
Made gather_elements(const FunctionNode& node) {
  if (!node.has(1) || !is_index(node.element(1)) || node.extents(1).size() != node.rank()) return std::nullopt;
  const auto axis = axis_of(node, 0, node.rank());
  if (!axis || count(node.extents(0)) == 0) return std::nullopt;
  return of_places("GatherElements", {*axis}, {0, 1});
}

/// The number of batch dimensions.
Made gather_nd(const FunctionNode& node) {
  const std::int64_t batch = node.node.attributes.integer("batch_dims", 0);
  if (!node.has(1) || node.element(1) != ElementType::int64 || node.extents(1).empty()) return std::nullopt;
  if (batch < 0 || batch >= std::ssize(node.extents(1)) || count(node.extents(0)) == 0) return std::nullopt;
  if (batch + node.extents(1).back() > std::ssize(node.extents(0))) return std::nullopt;
  return of_places("GatherND", {batch}, {0, 1});
}

Made tile(const FunctionNode& node) {
  if (node.results[0].extents.size() != node.rank() || count(node.extents(0)) == 0) return std::nullopt;
  return of_places("Tile", {}, {0});
}

/// Whether it keeps the upper triangle.
Made trilu(const FunctionNode& node) {
  if (node.rank() < 2 || (node.has(1) && (node.element(1) != ElementType::int64 || count(node.extents(1)) != 1)))
    return std::nullopt;
  return of_places("Trilu", {node.node.attributes.integer("upper", 1) != 0},
                   node.has(1) ? Operands{0, 1} : Operands{0});
}

/// The block size, and whether the blocks are the outer part of the channels.
Made depth_and_space(const FunctionNode& node) {
  const std::int64_t block = node.node.attributes.integer("blocksize", 0);
  const std::string mode = node.node.attributes.text("mode", "DCR");
  if (node.rank() != 4 || block <= 0 || (mode != "DCR" && mode != "CRD")) return std::nullopt;
  return of_places(node.node.name, {block, mode == "DCR"}, {0});
}

/// The mode (0 constant, 1 edge, 2 reflect, 3 wrap), and the elements added before each axis. The number is the
/// constant, if it is not an operand.
Made pad(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  const std::string mode = attributes.text("mode", "constant");
  const std::string_view modes[] = {"constant", "edge", "reflect", "wrap"};
  const auto found = std::find(std::begin(modes), std::end(modes), mode);
  std::optional<std::vector<std::int64_t>> pads =
      node.node.opset < 11 ? std::optional(attributes.integers("pads")) : node.integers(1);
  if (found == std::end(modes) || !pads) return std::nullopt;
  std::vector<std::int64_t> axes(node.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  if (node.has(3)) {
    const auto given = node.integers(3);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size() || (found != std::begin(modes) && count(node.extents(0)) == 0))
    return std::nullopt;
  std::vector<std::int64_t> integers(node.rank() + 1, 0);
  integers[0] = found - std::begin(modes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = FunctionNode::axis_in(axes[i], node.rank());
    if (!axis) return std::nullopt;
    integers[1 + *axis] = (*pads)[i];
  }
  const bool has_value = integers[0] == 0 && node.has(2);
  if (has_value && (node.element(2) != node.element(0) || count(node.extents(2)) != 1)) return std::nullopt;
  DeviceFunction function = of_places("Pad", std::move(integers), has_value ? Operands{0, 2} : Operands{0});
  if (!has_value) function.numbers = {node.node.opset < 11 ? attributes.number("value", 0) : 0.0};
  return function;
}

/// As a pad with zeros.
Made center_crop_pad(const FunctionNode& node) {
  std::vector<std::int64_t> integers{0};
  for (std::size_t i = 0; i < node.rank(); ++i) {
    const std::int64_t from = node.extents(0)[i], to = node.results[0].extents[i];
    integers.push_back(to > from ? (to - from) / 2 : -((from - to) / 2));
  }
  DeviceFunction function = of_places("Pad", std::move(integers), {0});
  function.numbers = {0};
  return function;
}

/// The axis of the new dimension.
Made one_hot(const FunctionNode& node) {
  const auto axis = axis_of(node, -1, node.rank() + 1);
  if (!axis || !node.has(2) || node.extents(2) != Extents{2} || !is_index(node.element(0))) return std::nullopt;
  return of_places("OneHot", {*axis}, {0, 2});
}

/// The diagonal.
Made eye_like(const FunctionNode& node) {
  if (node.rank() != 2) return std::nullopt;
  return of_places("EyeLike", {node.node.attributes.integer("k", 0)}, {});
}

/// The axis of the batch.
Made reverse_sequence(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  const std::int64_t batch = attributes.integer("batch_axis", 1);
  if (node.rank() < 2 || batch + attributes.integer("time_axis", 0) != 1 || batch < 0 || batch > 1) return std::nullopt;
  if (!node.has(1) || node.element(1) != ElementType::int64) return std::nullopt;
  return of_places("ReverseSequence", {batch}, {0, 1});
}

/// Mode (nearest, linear, cubic), coordinates, rounding, whether places outside are left out, and whether the kernel
/// widens; in the order of the lists below. The numbers are the coefficient of the cubic kernel and the scale of each
/// axis.
Made resize(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  const bool old = node.node.opset < 11 || node.node.name == "Upsample";
  const std::string_view modes[] = {"nearest", "linear", "cubic"};
  const std::string_view coordinates[] = {"half_pixel",         "asymmetric",           "align_corners",
                                          "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric"};
  const std::string_view roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const auto index_of = [](const auto& list, const std::string& name) -> std::optional<std::int64_t> {
    const auto found = std::find(std::begin(list), std::end(list), name);
    return found == std::end(list) ? std::nullopt : std::optional<std::int64_t>(found - std::begin(list));
  };
  const std::string named = attributes.text("mode", "nearest");
  const auto mode = index_of(modes, named == "bilinear" ? "linear" : named);
  const auto coordinate =
      index_of(coordinates, old ? "asymmetric" : attributes.text("coordinate_transformation_mode", "half_pixel"));
  const auto rounding = index_of(roundings, old ? "floor" : attributes.text("nearest_mode", "round_prefer_floor"));
  if (!mode || !coordinate || !rounding || count(node.extents(0)) == 0) return std::nullopt;
  if (*mode != 0 && !is_floating(node.element(0))) return std::nullopt;
  if (attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;

  std::vector<std::int64_t> axes(node.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  axes = attributes.integers("axes", axes);
  const Array* const given = node.constant(old ? 1 : 2);
  std::vector<double> scales = given != nullptr ? given->doubles() : std::vector<double>();
  if (scales.empty() && (old ? node.has(1) : node.has(2) && count(node.extents(2)) > 0)) return std::nullopt;
  std::vector<double> numbers(1 + node.rank(), 1);
  numbers[0] = attributes.number("cubic_coeff_a", -0.75);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = FunctionNode::axis_in(axes[i], node.rank());
    if (!axis || (!scales.empty() && scales.size() != axes.size())) return std::nullopt;
    const auto in = static_cast<double>(node.extents(0)[*axis]);
    numbers[1 + *axis] = scales.empty() ? static_cast<double>(node.results[0].extents[*axis]) / in : scales[i];
    if (!(numbers[1 + *axis] > 0) || !std::isfinite(numbers[1 + *axis])) return std::nullopt;
  }
  DeviceFunction function = of_places("Resize",
                                      {*mode, *coordinate, *rounding, attributes.integer("exclude_outside", 0) != 0,
                                       attributes.integer("antialias", 0) != 0},
                                      {0});
  function.numbers = std::move(numbers);
  return function;
}

/// Mode (nearest, linear, cubic), padding (zeros, border, reflection), and whether corners are aligned.
Made grid_sample(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  const std::string mode = attributes.text("mode", "linear"), padding = attributes.text("padding_mode", "zeros");
  if (node.rank() < 3 || !node.has(1) || !is_floating(node.element(0)) || !is_floating(node.element(1)))
    return std::nullopt;
  const std::int64_t kind = mode == "nearest" ? 0 : mode == "cubic" || mode == "bicubic" ? 2 : 1;
  const std::int64_t beyond = padding == "border" ? 1 : padding == "reflection" ? 2 : 0;
  DeviceFunction function =
      of_places("GridSample", {kind, beyond, attributes.integer("align_corners", 0) != 0}, {0, 1});
  return function;
}

/// Whether corners are aligned.
Made affine_grid(const FunctionNode& node) {
  if (!is_floating(node.element(0)) || node.rank() != 3) return std::nullopt;
  return of_places("AffineGrid", {node.node.attributes.integer("align_corners", 0) != 0}, {0});
}

/// The elements of the result.
Made shape(const FunctionNode& node) {
  const Extents& extents = node.extents(0);
  if (node.node.name == "Size") return of_places("Numbers", {count(extents)}, {});
  const auto rank = static_cast<std::int64_t>(extents.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(node.node.attributes.integer("start", 0));
  const std::int64_t end = place(node.node.attributes.integer("end", rank));
  if (end < begin) return std::nullopt;
  return of_places("Numbers", {extents.begin() + begin, extents.begin() + end}, {});
}

/// The reduction (none, add, mul, max, min), and the axis, except of ScatterND. Without a reduction, any of several
/// updates of one element may win; with one, they are combined in their order.
Made scatter(const FunctionNode& node) {
  const std::string_view reductions[] = {"none", "add", "mul", "max", "min"};
  const auto reduction =
      std::find(std::begin(reductions), std::end(reductions), node.node.attributes.text("reduction", "none"));
  if (!node.has(1) || !node.has(2) || node.element(2) != node.element(0)) return std::nullopt;
  if (reduction == std::end(reductions)) return std::nullopt;
  DeviceFunction function{
      .name = node.node.name, .integers = {reduction - std::begin(reductions)}, .operands = {0, 1, 2}};
  if (node.node.name == "ScatterND") {
    constexpr std::int64_t most_tuples = 1 << 16;  // of a reduction, where each thread walks over all
    if (node.element(1) != ElementType::int64 || node.extents(1).empty()) return std::nullopt;
    const std::int64_t depth = node.extents(1).back();
    if (depth > std::ssize(node.extents(0))) return std::nullopt;
    if (function.integers[0] != 0 && count(node.extents(1)) > most_tuples * std::max<std::int64_t>(depth, 1))
      return std::nullopt;
    return function;
  }
  const auto axis = axis_of(node, 0, node.rank());
  if (!axis || !is_index(node.element(1)) || node.extents(1) != node.extents(2)) return std::nullopt;
  function.name = "ScatterElements";
  function.integers.push_back(*axis);
  return function;
}

/// The axis, and whether places go round.
Made tensor_scatter(const FunctionNode& node) {
  const std::string mode = node.node.attributes.text("mode", "linear");
  const auto axis = axis_of(node, -2, node.rank());
  if (mode != "linear" && mode != "circular") return std::nullopt;
  if (!axis || *axis == 0 || !node.has(1) || node.element(1) != node.element(0)) return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  Extents cache = node.extents(0);
  if (node.extents(1).size() != cache.size() || node.extents(1)[at] > cache[at]) return std::nullopt;
  cache[at] = node.extents(1)[at];
  if (node.extents(1) != cache) return std::nullopt;
  if (node.has(2) && (node.element(2) != ElementType::int64 || node.extents(2) != Extents{node.extents(0)[0]}))
    return std::nullopt;
  return of_places("TensorScatter", {*axis, mode == "circular"}, node.has(2) ? Operands{0, 1, 2} : Operands{0, 1});
}

/// Outer, length and inner extents, how many are taken, and whether the largest are. Each element counts those before
/// it, so that rows may not be long.
Made top(const FunctionNode& node) {
  constexpr std::int64_t longest = 1 << 16;
  if (node.node.opset < 10 || node.element(0) == ElementType::boolean) return std::nullopt;
  const auto axis = axis_of(node, -1, node.rank());
  if (!axis) return std::nullopt;
  const Extents& wanted =
      node.results[0].element != ElementType::undefined ? node.results[0].extents : node.results.back().extents;
  DeviceFunction function{.name = "TopK", .integers = {1, 1, 1}, .operands = {0}};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(node.rank()); ++i)
    function.integers[i < *axis ? 0 : i == *axis ? 1 : 2] *= node.extents(0)[static_cast<std::size_t>(i)];
  if (function.integers[1] > longest) return std::nullopt;
  function.integers.push_back(wanted.at(static_cast<std::size_t>(*axis)));
  function.integers.push_back(node.node.opset < 11 || node.node.attributes.integer("largest", 1) != 0);
  return function;
}

/// Whether pairs are neighbours, how much of each head is turned, the heads of a packed operand (else 0), and whether
/// the angles have positions.
Made rotary_embedding(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  const bool is_packed = node.rank() == 3;
  const std::int64_t heads = attributes.integer("num_heads", 0);
  if ((!is_packed && node.rank() != 4) || (is_packed && (heads <= 0 || node.extents(0)[2] % heads != 0)))
    return std::nullopt;
  for (const std::size_t operand : {0U, 1U, 2U})
    if (!node.has(operand) || !is_floating(node.element(operand))) return std::nullopt;
  if (node.extents(1) != node.extents(2) || (node.has(3) && node.element(3) != ElementType::int64)) return std::nullopt;
  const std::int64_t size = is_packed ? node.extents(0)[2] / heads : node.extents(0)[3];
  const std::int64_t asked = attributes.integer("rotary_embedding_dim", 0), turned = asked == 0 ? size : asked;
  if (turned < 2 || turned > size || turned % 2 != 0 || node.extents(1).back() != turned / 2) return std::nullopt;
  if (node.extents(1).size() != (node.has(3) ? 2U : 3U) || count(node.extents(1)) == 0) return std::nullopt;
  const std::int64_t is_interleaved = attributes.integer("interleaved", 0) != 0;
  return of_places("RotaryEmbedding", {is_interleaved, turned, is_packed ? heads : 0, node.has(3)},
                   node.has(3) ? Operands{0, 1, 2, 3} : Operands{0, 1, 2});
}

/// The sampling ratio, whether it takes the maximum, and whether coordinates are those of pixel centres. The number is
/// the spatial scale.
Made roi_align(const FunctionNode& node) {
  const Attributes& attributes = node.node.attributes;
  if (node.rank() != 4 || !node.has(1) || !node.has(2) || count(node.extents(0)) == 0) return std::nullopt;
  if (!is_floating(node.element(0)) || !is_floating(node.element(1)) || node.element(2) != ElementType::int64)
    return std::nullopt;
  const bool is_half =
      node.node.opset >= 16 && attributes.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  DeviceFunction function =
      of_places("RoiAlign", {attributes.integer("sampling_ratio", 0), attributes.text("mode", "avg") == "max", is_half},
                {0, 1, 2});
  function.numbers = {attributes.number("spatial_scale", 1)};
  return function;
}

using Maker = Made (*)(const FunctionNode&);
constexpr std::pair<std::string_view, Maker> makers[] = {
    {"AffineGrid", affine_grid},
    {"CenterCropPad", center_crop_pad},
    {"DepthToSpace", depth_and_space},
    {"EyeLike", eye_like},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"GridSample", grid_sample},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"Resize", resize},
    {"ReverseSequence", reverse_sequence},
    {"Scatter", scatter},
    {"RotaryEmbedding", rotary_embedding},
    {"RoiAlign", roi_align},
    {"ScatterElements", scatter},
    {"ScatterND", scatter},
    {"Shape", shape},
    {"Size", shape},
    {"SpaceToDepth", depth_and_space},
    {"TensorScatter", tensor_scatter},
    {"Tile", tile},
    {"TopK", top},
    {"Trilu", trilu},
    {"Upsample", resize},
};

}  // namespace

std::optional<DeviceFunction> place_function(const FunctionNode& node) {
  const auto* const found = std::find_if(std::begin(makers), std::end(makers),
                                         [&](const auto& maker) { return maker.first == node.node.name; });
  if (found == std::end(makers)) return std::nullopt;
  Made made = found->second(node);
  // Other operators have one result.
  if (made && made->name != "TopK" && node.results.size() != 1) return std::nullopt;
  return made;
}

}  // namespace taso::cost
