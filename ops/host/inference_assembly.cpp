// Types and shapes of operators that put tensors together, enlarge them, or make them from nothing.
#include <algorithm>
#include <cmath>

#include "ops/host/inference_rules.h"

namespace taso::inference {
namespace {

void concat(Inference& node) {
  node.set_type(0, node.type(0));
  std::optional<Shape> result;
  std::size_t along = 0;
  for (std::size_t i = 0; i < node.call.inputs.size(); ++i) {
    const Shape* const shape = node.shape(i);
    if (shape == nullptr) return;
    if (!result) {
      const auto axis = axis_of(node.integer("axis", 0), shape->size());
      if (!axis) return;
      along = *axis;
      result = *shape;
      continue;
    }
    if (shape->size() != result->size()) return;
    for (std::size_t d = 0; d < shape->size(); ++d) {
      Dim& dim = (*result)[d];
      if (d == along)
        dim = dim + (*shape)[d];
      else if (!dim.is_static())
        dim = (*shape)[d];  // they must be equal, so the one that is a number tells more
      else if ((*shape)[d].is_static() && (*shape)[d] != dim)
        return;
    }
  }
  node.set_shape(0, result);
}

void split(Inference& node) {
  const std::size_t parts = node.call.outputs;
  for (std::size_t i = 0; i < parts; ++i) node.set_type(i, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto sizes = node.list("split", 1, 13);
  if (shape == nullptr || parts == 0 || (sizes.given && !sizes.values)) return;
  const auto axis = axis_of(node.integer("axis", 0), shape->size());
  if (!axis) return;
  const Dim extent = (*shape)[*axis];
  const auto number = static_cast<std::int64_t>(parts);
  std::vector<Dim> lengths;
  if (sizes.given && !sizes.values->empty()) {
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
    return;
  }
  for (std::size_t i = 0; i < parts; ++i) {
    Shape part = *shape;
    part[*axis] = lengths[i];
    node.set_shape(i, part);
  }
}

void expand(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto target = node.content(1);
  if (shape != nullptr && target) node.set_shape(0, broadcast_shapes(*shape, *target));
}

void tile(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto repeats = node.content(1);
  if (shape == nullptr || !repeats || repeats->size() != shape->size()) return;
  Shape result = *shape;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = result[i] * (*repeats)[i];
  node.set_shape(0, result);
}

void pad(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  std::vector<Dim> pads;
  if (node.call.opset < 11) {
    const auto given = node.call.attributes.integers("pads");
    pads.assign(given.begin(), given.end());
  } else if (const auto given = node.content(1)) {
    pads = *given;
  } else {
    return;
  }
  std::vector<std::int64_t> axes;
  if (node.call.opset >= 18 && node.has(3)) {
    const auto given = node.integers(3);
    if (!given) return;
    axes = *given;
  } else {
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) return;
  Shape result = *shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], shape->size());
    if (!axis) return;
    result[*axis] = result[*axis] + pads[i] + pads[i + axes.size()];
    if (!surely_non_negative(result[*axis])) return;
  }
  node.set_shape(0, result);
}

// extent * scale, rounded down; nothing where the precision of the product would decide.
std::optional<Dim> scaled(Dim extent, float scale) {
  if (!(scale > 0) || !(scale < 1e6F)) return std::nullopt;
  if (scale == std::floor(scale)) return extent * Dim(static_cast<std::int64_t>(scale));
  if (!extent.is_static() || extent.value() < 0 || extent.value() > (1 << 24)) return std::nullopt;
  const auto exact = std::floor(static_cast<double>(extent.value()) * static_cast<double>(scale));
  const auto rough = std::floor(static_cast<double>(static_cast<float>(extent.value()) * scale));
  return exact == rough ? std::optional(Dim(static_cast<std::int64_t>(exact))) : std::nullopt;
}

std::optional<Shape> resized(const Inference& node) {
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return std::nullopt;
  const bool is_upsample = node.call.op_type == "Upsample" || node.call.opset < 11;
  if (node.call.attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;
  std::vector<std::int64_t> axes = node.call.attributes.integers("axes");
  if (axes.empty())
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  Shape result = *shape;
  if (!is_upsample && node.has(3)) {
    const auto sizes = node.content(3);
    if (!sizes) return std::nullopt;
    if (!sizes->empty()) {
      if (sizes->size() != axes.size()) return std::nullopt;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto axis = axis_of(axes[i], shape->size());
        if (!axis) return std::nullopt;
        result[*axis] = (*sizes)[i];
      }
      return result;
    }
  }
  if (node.call.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") return std::nullopt;
  std::vector<double> scales = node.call.attributes.numbers("scales");
  if (scales.empty()) {
    const auto given = node.constant(is_upsample ? 1 : 2);
    if (!given || !is_floating(given->type())) return std::nullopt;
    scales = given->doubles();
  }
  if (scales.size() != axes.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], shape->size());
    const auto extent = axis ? scaled((*shape)[*axis], static_cast<float>(scales[i])) : std::nullopt;
    if (!extent) return std::nullopt;
    result[*axis] = *extent;
  }
  return result;
}

void resize(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_shape(0, resized(node));
}

void center_crop_pad(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto target = node.content(1);
  if (shape == nullptr || !target) return;
  std::vector<std::int64_t> axes = node.call.attributes.integers("axes");
  if (!node.call.attributes.has("axes"))
    for (std::size_t i = 0; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.size() != target->size()) return;
  Shape result = *shape;
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
    return;
  }
  const auto first = node.constant(0), last = node.constant(1), step = node.constant(2);
  if (!first || !last || !step || first->size() != 1 || last->size() != 1 || step->size() != 1) return;
  const double number = std::ceil((last->doubles()[0] - first->doubles()[0]) / step->doubles()[0]);
  // Floating-point bounds: only where rounding cannot change the number.
  const double exact = (last->doubles()[0] - first->doubles()[0]) / step->doubles()[0];
  if (!(std::abs(number) < 1e6) || (exact != number && std::abs(exact - std::nearbyint(exact)) < 1e-4)) return;
  node.set_shape(0, Shape{Dim(std::max<std::int64_t>(0, static_cast<std::int64_t>(number)))});
}

void constant_of_shape(Inference& node) {
  const auto value = node.call.attributes.array("value");
  node.set_type(0, value ? value->type() : ElementType::float32);
  const auto target = node.content(0);
  if (!target) return;
  node.set_shape(0, *target);
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
  if (!depth)  // it may be of any numeric type
    if (const auto number = node.constant(1); number && number->size() == 1)
      depth = Dim(number->cast(ElementType::int64).integers().front());
  if (indices == nullptr || !depth) return;
  const auto axis = axis_of(node.integer("axis", -1), indices->size() + 1);
  if (!axis) return;
  Shape result = *indices;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis), *depth);
  node.set_shape(0, result);
}

void random(Inference& node) {
  node.set_type(0, node.type_attribute("dtype", ElementType::float32));
  if (node.call.attributes.has("shape")) node.set_shape(0, shape_of(node.call.attributes.integers("shape")));
}

void window(Inference& node) {
  node.set_type(0, node.type_attribute("output_datatype", ElementType::float32));
  if (const auto size = node.only(0)) node.set_shape(0, Shape{*size});
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

}  // namespace taso::inference
