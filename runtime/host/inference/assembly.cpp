// Types and shapes of operators that combine tensors, enlarge them, or create them.
#include <algorithm>
#include <cmath>

#include "runtime/host/inference/rules.h"

namespace taso::runtime::inference {
namespace {

Dim sum_of(std::vector<Dim> parts) {
  if (parts.empty()) return 0;
  while (parts.size() > 1) {
    for (std::size_t i = 0; 2 * i < parts.size(); ++i)
      parts[i] = 2 * i + 1 < parts.size() ? parts[2 * i] + parts[2 * i + 1] : parts[2 * i];
    parts.resize((parts.size() + 1) / 2);
  }
  return parts.front();
}

void concat(Inference& node) {
  node.set_type(0, node.type(0));
  std::optional<PartialShape> result;
  std::size_t along = 0;
  bool all_told = true;
  // Adds all lengths at the end: a sum of many unknowns for each operand would be quadratic.
  std::vector<Dim> lengths;
  for (std::size_t i = 0; i < node.call.inputs.size(); ++i) {
    const Shape* const shape = node.shape(i);
    if (shape == nullptr) {
      all_told = false;
      continue;
    }
    if (!result) {
      const auto axis = axis_of(node.integer("axis", 0), shape->size());
      if (!axis) return;
      along = *axis;
      result = partial(*shape);
      lengths.push_back((*shape)[along]);
      continue;
    }
    if (shape->size() != result->size()) return;
    for (std::size_t d = 0; d < shape->size(); ++d) {
      std::optional<Dim>& dim = (*result)[d];
      if (d == along)
        lengths.push_back((*shape)[d]);
      else if (!dim->is_static())
        dim = (*shape)[d];  // they must be equal, so prefer the one that is a number
      else if ((*shape)[d].is_static() && (*shape)[d] != *dim)
        return;
    }
  }
  if (!result) return;
  (*result)[along] = all_told ? std::optional(sum_of(std::move(lengths))) : std::nullopt;
  node.set_shape(0, result);
}

void split(Inference& node) {
  const std::size_t parts = node.call.outputs;
  for (std::size_t i = 0; i < parts; ++i) node.set_type(i, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto sizes = node.list("split", 1, 13);
  if (shape == nullptr || parts == 0) return;
  const auto axis = axis_of(node.integer("axis", 0), shape->size());
  if (!axis) return;
  const Dim extent = (*shape)[*axis];
  const auto number = static_cast<std::int64_t>(parts);
  PartialShape lengths;
  if (sizes.given && !sizes.values) {
    lengths = untold(parts);
  } else if (sizes.given && !sizes.values->empty()) {
    if (sizes.values->size() != parts) return;
    lengths.assign(sizes.values->begin(), sizes.values->end());
  } else if (const auto equal = exact_div(extent, number)) {
    lengths.assign(parts, *equal);
  } else if (extent.is_static()) {  // the last one is shorter
    const std::int64_t chunk = ceil_div(extent, number).value();
    for (std::int64_t i = 0; i < number; ++i) {
      if (i * chunk > extent.value()) return;
      lengths.emplace_back(std::min(chunk, extent.value() - i * chunk));
    }
  } else {
    lengths = untold(parts);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    PartialShape part = partial(*shape);
    part[*axis] = lengths[i];
    node.set_shape(i, part);
  }
}

/// The elements as extents; those that may be less than `least` are unknown.
std::optional<PartialShape> extents_of(const Inference& node, std::size_t operand, std::int64_t least) {
  auto told = node.elements(operand);
  if (!told) return std::nullopt;
  for (std::optional<Dim>& dim : *told)
    if (dim && !surely_at_least(*dim, least)) dim.reset();
  return told;
}

void expand(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto target = extents_of(node, 1, 0);
  if (shape != nullptr && target) node.set_shape(0, broadcast_shapes(partial(*shape), *target));
}

void tile(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr || node.call.opset < 6) return;
  const auto repeats = node.elements(1);
  PartialShape result = untold(shape->size());
  if (repeats && repeats->size() != shape->size()) return;
  for (std::size_t i = 0; repeats && i < result.size(); ++i)
    if ((*repeats)[i]) result[i] = (*shape)[i] * *(*repeats)[i];
  node.set_shape(0, result);
}

void pad(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  std::vector<std::int64_t> axes;
  if (node.call.opset >= 18 && node.has(3)) {
    const auto given = node.integers(3);
    if (!given) return node.set_shape(0, untold(shape->size()));
    axes = *given;
  } else {
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  PartialShape pads = untold(2 * axes.size());
  if (node.call.opset < 11)
    pads = partial(shape_of(node.call.attributes.integers("pads")));
  else if (auto given = node.elements(1))
    pads = *std::move(given);
  if (pads.size() != 2 * axes.size()) return;
  PartialShape result = partial(*shape);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], shape->size());
    if (!axis) return;
    std::optional<Dim>& dim = result[*axis];
    const std::optional<Dim>&before = pads[i], &after = pads[i + axes.size()];
    dim = before && after && dim ? std::optional(*dim + *before + *after) : std::nullopt;
    if (dim && !surely_non_negative(*dim)) dim.reset();
  }
  node.set_shape(0, result);
}

// extent * scale, rounded down; nothing if the precision of the product matters.
std::optional<Dim> scaled(Dim extent, float scale) {
  if (!(scale > 0) || !(scale < 1e6F)) return std::nullopt;
  if (scale == std::floor(scale)) return extent * Dim(static_cast<std::int64_t>(scale));
  if (!extent.is_static() || extent.value() < 0 || extent.value() > (1 << 24)) return std::nullopt;
  const auto exact = std::floor(static_cast<double>(extent.value()) * static_cast<double>(scale));
  const auto rough = std::floor(static_cast<double>(static_cast<float>(extent.value()) * scale));
  return exact == rough ? std::optional(Dim(static_cast<std::int64_t>(exact))) : std::nullopt;
}

std::optional<PartialShape> resized(const Inference& node) {
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return std::nullopt;
  const bool is_upsample = node.call.op_type == "Upsample" || node.call.opset < 11;
  std::vector<std::int64_t> axes = node.call.attributes.integers("axes");
  if (axes.empty())
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  PartialShape result = partial(*shape);
  for (const std::int64_t given : axes) {  // the resized axes; set below
    const auto axis = axis_of(given, shape->size());
    if (!axis) return std::nullopt;
    result[*axis].reset();
  }
  const auto place = [&](std::size_t i) -> std::optional<Dim>& { return result[*axis_of(axes[i], shape->size())]; };
  if (node.call.attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") return result;
  if (!is_upsample && node.has(3)) {
    const auto sizes = extents_of(node, 3, 0);
    if (!sizes) return result;
    if (!sizes->empty()) {
      if (sizes->size() != axes.size()) return std::nullopt;
      for (std::size_t i = 0; i < axes.size(); ++i) place(i) = (*sizes)[i];
      return result;
    }
  }
  if (node.call.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") return result;
  std::vector<double> scales = node.call.attributes.numbers("scales");
  if (scales.empty()) {
    const auto given = node.constant(is_upsample ? 1 : 2);
    if (!given || !is_floating(given->type())) return result;
    scales = given->doubles();
  }
  if (scales.size() != axes.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i)
    place(i) = scaled((*shape)[*axis_of(axes[i], shape->size())], static_cast<float>(scales[i]));
  return result;
}

void resize(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_shape(0, resized(node));
}

void center_crop_pad(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto target = extents_of(node, 1, 0);
  if (shape == nullptr || !target) return;
  std::vector<std::int64_t> axes = node.call.attributes.integers("axes");
  if (!node.call.attributes.has("axes"))
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.size() != target->size()) return;
  PartialShape result = partial(*shape);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], shape->size());
    if (!axis) return;
    result[*axis] = (*target)[i];
  }
  node.set_shape(0, result);
}

void range(Inference& node) {
  node.set_type(0, node.type(0));
  const auto start = node.only(0), limit = node.only(1), delta = node.only(2);
  if (start && limit && delta && delta->is_static() && delta->value() != 0) {
    const bool up = delta->value() > 0;
    const Dim distance = up ? *limit - *start : *start - *limit;
    const Dim step = up ? *delta : Dim(0) - *delta;
    if (surely_non_negative(distance))
      node.set_shape(0, Shape{ceil_div(distance, step)});
    else if (surely_non_negative(Dim(0) - distance))
      node.set_shape(0, Shape{Dim(0)});
    else
      node.set_shape(0, untold(1));
    return;
  }
  node.set_shape(0, untold(1));
  const auto first = node.constant(0), last = node.constant(1), step = node.constant(2);
  if (!first || !last || !step || first->size() != 1 || last->size() != 1 || step->size() != 1) return;
  const double number = std::ceil((last->doubles()[0] - first->doubles()[0]) / step->doubles()[0]);
  // Floating-point bounds: only if rounding cannot change the number.
  const double exact = (last->doubles()[0] - first->doubles()[0]) / step->doubles()[0];
  if (!(std::abs(number) < 1e6) || (exact != number && std::abs(exact - std::nearbyint(exact)) < 1e-4)) return;
  node.set_shape(0, Shape{Dim(std::max<std::int64_t>(0, static_cast<std::int64_t>(number)))});
}

void constant_of_shape(Inference& node) {
  const auto value = node.call.attributes.array("value");
  node.set_type(0, value ? value->type() : ElementType::float32);
  const auto target = node.content(0);
  node.set_shape(0, extents_of(node, 0, 0));
  if (!target) return;
  if (target->size() > 1 || (target->size() == 1 && !target->front().is_static())) return;
  const std::int64_t number = target->empty() ? 1 : target->front().value();
  if (!value || !is_integer(value->type()) || value->size() != 1) return;
  if (number >= 0 && number <= static_cast<std::int64_t>(longest_content))
    node.set_content(0, std::vector<Dim>(static_cast<std::size_t>(number), Dim(value->integers().front())));
}

void constant(Inference& node) {
  const Attributes& attributes = node.call.attributes;
  std::optional<Array> value = attributes.array("value");
  if (!value) {
    const HostFunction function = find_host_function("", "Constant");
    if (function == nullptr) return;
    value = function(HostCall{"Constant", node.call.opset, attributes, {}, 1}).front();
  }
  node.set(0, value->type(), shape_of(value->extents()));
  if (Fact* fact = node.result(0)) fact->constant = value;
}

void one_hot(Inference& node) {
  node.set_type(0, node.type(2));
  const Shape* const indices = node.shape(0);
  auto depth = node.only(1);
  if (!depth)  // may be of any numeric type
    if (const auto number = node.constant(1); number && number->size() == 1)
      depth = Dim(number->cast(ElementType::int64).integers().front());
  if (indices == nullptr) return;
  const auto axis = axis_of(node.integer("axis", -1), indices->size() + 1);
  if (!axis) return;
  PartialShape result = partial(*indices);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis), depth);
  node.set_shape(0, result);
}

void random(Inference& node) {
  node.set_type(0, node.type_attribute("dtype", ElementType::float32));
  if (node.call.attributes.has("shape")) node.set_shape(0, shape_of(node.call.attributes.integers("shape")));
}

void window(Inference& node) {
  node.set_type(0, node.type_attribute("output_datatype", ElementType::float32));
  node.set_shape(0, PartialShape{node.only(0)});
}

}  // namespace

Rules assembly_rules() {
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"BlackmanWindow", window},
      {"CenterCropPad", center_crop_pad},
      {"Concat", concat},
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"Expand", expand},
      {"HammingWindow", window},
      {"HannWindow", window},
      {"OneHot", one_hot},
      {"Pad", pad},
      {"RandomNormal", random},
      {"RandomUniform", random},
      {"Range", range},
      {"Resize", resize},
      {"Split", split},
      {"Tile", tile},
      {"Upsample", resize},
  };
  return rules;
}

}  // namespace taso::runtime::inference
