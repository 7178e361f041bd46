// Types and shapes of operators that view, cut and select.
#include <algorithm>

#include "ops/core/minimum.h"
#include "runtime/host/inference/rules.h"
#include "runtime/host/slice_end.h"

namespace taso::runtime::inference {
namespace {

/// Whether an extent may be 0. Models test for empty tensors, and what they compute from shapes is folded: that may
/// rely only on extents that are at least 1 by contract. Extents that a model computes are not.
bool may_be_empty(const Dim& extent) {
  const std::vector<std::string> names = extent.symbols();
  return has_minimum_that_may_vanish(extent) ||
         std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(computed_mark); });
}

void shape_of_operand(Inference& node) {
  node.set_type(0, ElementType::int64);
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto bound = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t given = node.call.opset >= 15 ? node.integer(name, otherwise) : otherwise;
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  node.set_shape(0, Shape{Dim(end - start)});
  const Shape part(shape->begin() + start, shape->begin() + end);
  if (std::none_of(part.begin(), part.end(), may_be_empty)) return node.set_content(0, part);
  Fact* const fact = node.result(0);
  if (fact == nullptr || part.size() > longest_content) return;
  fact->known_part = partial(part);
  for (std::optional<Dim>& dim : *fact->known_part)
    if (may_be_empty(*dim)) dim.reset();
}

void size_of_operand(Inference& node) {
  node.set(0, ElementType::int64, Shape{});
  const Shape* const shape = node.shape(0);
  if (shape != nullptr && std::none_of(shape->begin(), shape->end(), may_be_empty))
    node.set_content(0, {count(*shape)});
}

std::optional<PartialShape> reshaped(const Inference& node) {
  const auto target = node.elements(1);
  if (!target) return std::nullopt;
  const Shape* const from = node.shape(0);
  const bool zero_is_zero = node.call.opset >= 14 && node.integer("allowzero", 0) != 0;
  PartialShape result;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target->size(); ++i) {
    const std::optional<Dim>& wanted = (*target)[i];
    if (wanted && *wanted == Dim(-1)) {
      if (open) return std::nullopt;
      open = i;
      result.emplace_back();
    } else if (wanted && *wanted == Dim(0) && !zero_is_zero) {
      if (from != nullptr && i >= from->size()) return std::nullopt;
      result.push_back(from == nullptr ? std::nullopt : std::optional((*from)[i]));
    } else {
      const bool is_extent = wanted && surely_at_least(*wanted, zero_is_zero ? 0 : 1);  // otherwise it might be 0 or -1
      result.push_back(is_extent ? wanted : std::nullopt);
    }
  }
  if (!open || from == nullptr) return result;
  // Cancels dimensions on both sides before the division, because they may be 0.
  Shape above = *from, below;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i == *open) continue;
    if (!result[i]) return result;
    const auto twin = std::find(above.begin(), above.end(), *result[i]);
    if (twin == above.end() || *result[i] == Dim(0))
      below.push_back(*result[i]);
    else
      above.erase(twin);
  }
  const Dim divisor = count(below);
  if (!surely_at_least(divisor, 1)) return result;
  if (const auto quotient = exact_div(count(above), divisor))
    result[*open] = *quotient;
  else if (divisor.is_static() && !count(above).is_static())
    result[*open] = floor_div(count(above), divisor);  // exact whenever the node can run
  return result;
}

void reshape(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_shape(0, reshaped(node));
}

void flatten(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return;
  node.set_shape(
      0, Shape{count(Shape(shape->begin(), shape->begin() + axis)), count(Shape(shape->begin() + axis, shape->end()))});
}

void transpose(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  Shape result(shape->rbegin(), shape->rend());
  if (node.call.attributes.has("perm")) {
    const auto order = node.call.attributes.integers("perm");
    if (order.size() != shape->size()) return;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 0 || order[i] >= static_cast<std::int64_t>(order.size())) return;
      result[i] = (*shape)[static_cast<std::size_t>(order[i])];
    }
  }
  node.set_shape(0, result);
}

void squeeze(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto axes = node.list("axes", 1, 13);
  if (shape == nullptr || (axes.given && !axes.values)) return;
  std::vector<bool> drop(shape->size(), false);
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (axes.given) break;
    if (!(*shape)[i].is_static()) return;  // whether it is dropped depends on its value
    drop[i] = (*shape)[i] == Dim(1);
  }
  if (axes.given)
    for (const std::int64_t given : *axes.values) {
      const auto axis = axis_of(given, shape->size());
      if (!axis) return;
      drop[*axis] = true;
    }
  Shape result;
  for (std::size_t i = 0; i < shape->size(); ++i)
    if (!drop[i]) result.push_back((*shape)[i]);
  node.set_shape(0, result);
}

void unsqueeze(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const auto axes = node.list("axes", 1, 13);
  if (shape == nullptr || !axes.values) return;
  const std::size_t rank = shape->size() + axes.values->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t given : *axes.values) {
    const auto axis = axis_of(given, rank);
    if (!axis || added[*axis]) return;
    added[*axis] = true;
  }
  Shape result;
  auto next = shape->begin();
  for (std::size_t i = 0; i < rank; ++i) result.push_back(added[i] ? Dim(1) : *next++);
  node.set_shape(0, result);
}

// The number of elements that a slice of one axis takes; bounds beyond the axis are clamped.
std::optional<Dim> slice_length(Dim extent, Dim start, Dim end, std::int64_t step) {
  constexpr std::int64_t far = std::int64_t{1} << 31;
  const auto place = [&](Dim bound) -> std::optional<Dim> {  // for a positive step: between 0 and extent
    if (bound.is_static() && bound.value() >= far - 1) return extent;
    if (bound.is_static() && bound.value() <= -far + 1) return Dim(0);
    if (surely_at_least(bound, 1)) return minimum(bound, extent);
    if (surely_non_negative(bound)) return smaller_of(bound, extent);
    if (!surely_at_least(-1, bound)) return std::nullopt;
    const Dim from_back = extent + bound;
    if (surely_non_negative(from_back)) return from_back;
    return surely_at_least(0, from_back) ? std::optional(Dim(0)) : std::nullopt;
  };
  // Bounds of an extent that may be 0 are not what they are otherwise: there is no last element.
  const bool is_whole = start == Dim(0) && end.is_static() && end.value() >= far - 1;
  if (step > 0 && may_vanish(extent) && !is_whole) return std::nullopt;
  if (step > 0) {
    const auto first = place(start), last = place(end);
    if (!first || !last) return std::nullopt;
    if (surely_at_least(*first, *last)) return Dim(0);
    if (surely_at_least(*last, *first)) return ceil_div(*last - *first, step);
    // That many, if there are that many after the start.
    const Dim wanted = end - start;
    if (step != 1 || !surely_non_negative(start) || !surely_at_least(wanted, 1)) return std::nullopt;
    return minimum(wanted, extent - *first);
  }
  // Backwards: only over the whole axis, or if everything is known.
  if (step == 0 || step < -far || !start.is_static() || !end.is_static()) return std::nullopt;
  if (is_ambiguous_slice(end.value(), step)) return std::nullopt;
  const bool from_last = start.value() == -1 || start.value() >= far - 1;
  if (from_last && end.value() <= -far + 1) return ceil_div(extent, -step);
  if (!extent.is_static()) return std::nullopt;
  if (extent.value() == 0) return Dim(0);
  const auto clamped = [&](std::int64_t bound, std::int64_t least) {
    return std::clamp<std::int64_t>(bound < 0 ? bound + extent.value() : bound, least, extent.value() - 1);
  };
  const std::int64_t first = clamped(std::max(start.value(), -far * far), 0);
  const std::int64_t last = end.value() < -extent.value() ? -1 : clamped(end.value(), -1);
  return first > last ? ceil_div(Dim(first - last), -step) : Dim(0);
}

void slice(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  if (shape == nullptr) return;
  PartialShape starts, ends;
  std::optional<std::vector<std::int64_t>> axes, steps;
  if (node.call.opset < 10) {
    starts = partial(shape_of(node.call.attributes.integers("starts")));
    ends = partial(shape_of(node.call.attributes.integers("ends")));
    if (node.call.attributes.has("axes")) axes = node.call.attributes.integers("axes");
  } else {
    const auto from = node.elements(1), to = node.elements(2);
    if (node.has(3)) axes = node.integers(3);
    if (node.has(4)) steps = node.integers(4);
    const std::size_t length = from ? from->size() : to ? to->size() : axes ? axes->size() : 0;
    // Whichever axes it cuts, the rank stays the same.
    if (length == 0 || (node.has(3) && !axes)) return node.set_shape(0, untold(shape->size()));
    starts = from ? *from : untold(length);
    ends = to ? *to : untold(length);
  }
  if (!axes || (axes->empty() && node.call.opset < 10)) {
    axes.emplace();
    for (std::size_t i = 0; i < starts.size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  const bool unknown_steps = node.call.opset >= 10 && node.has(4) && !steps;
  if (!steps) steps.emplace(starts.size(), 1);
  if (ends.size() != starts.size() || axes->size() != starts.size() || steps->size() != starts.size()) return;
  PartialShape result = partial(*shape);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = axis_of((*axes)[i], shape->size());
    if (!axis) return;
    const bool told = starts[i] && ends[i] && !unknown_steps;
    result[*axis] = told ? slice_length((*shape)[*axis], *starts[i], *ends[i], (*steps)[i]) : std::nullopt;
  }
  node.set_shape(0, result);
}

void gather(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const Shape* const indices = node.shape(1);
  if (shape == nullptr || indices == nullptr) return;
  const auto axis = axis_of(node.integer("axis", 0), shape->size());
  if (!axis) return;
  Shape result(shape->begin(), shape->begin() + static_cast<std::ptrdiff_t>(*axis));
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), shape->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, shape->end());
  node.set_shape(0, result);
}

void gather_elements(Inference& node) {
  node.set_type(0, node.type(0));
  if (const Shape* indices = node.shape(1)) node.set_shape(0, *indices);
}

void gather_nd(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const Shape* const indices = node.shape(1);
  if (shape == nullptr || indices == nullptr || indices->empty() || !indices->back().is_static()) return;
  const std::int64_t batch = node.call.opset >= 12 ? node.integer("batch_dims", 0) : 0;
  const std::int64_t depth = indices->back().value();
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (batch < 0 || batch > rank || depth < 0 || depth > rank - batch) return;
  Shape result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), shape->begin() + batch + depth, shape->end());
  node.set_shape(0, result);
}

void depth_to_space(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const std::int64_t block = node.integer("blocksize", 0);
  if (shape == nullptr || shape->size() != 4 || block <= 0) return;
  const auto channels = exact_div((*shape)[1], Dim(block) * Dim(block));
  if (channels) node.set_shape(0, Shape{(*shape)[0], *channels, (*shape)[2] * block, (*shape)[3] * block});
}

void space_to_depth(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const shape = node.shape(0);
  const std::int64_t block = node.integer("blocksize", 0);
  if (shape == nullptr || shape->size() != 4 || block <= 0) return;
  const auto height = exact_div((*shape)[2], block), width = exact_div((*shape)[3], block);
  if (height && width) node.set_shape(0, Shape{(*shape)[0], (*shape)[1] * block * block, *height, *width});
}

// Results whose length depends on the data.
void compress(Inference& node) { node.set_type(0, node.type(0)); }
void non_zero(Inference& node) { node.set_type(0, ElementType::int64); }
void unique(Inference& node) {
  node.set_type(0, node.type(0));
  for (std::size_t i = 1; i < 4; ++i) node.set_type(i, ElementType::int64);
}

}  // namespace

Rules movement_rules() {
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"Compress", compress},
      {"DepthToSpace", depth_to_space},
      {"Flatten", flatten},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"NonMaxSuppression", non_zero},
      {"NonZero", non_zero},
      {"Reshape", reshape},
      {"Shape", shape_of_operand},
      {"Size", size_of_operand},
      {"Slice", slice},
      {"SpaceToDepth", space_to_depth},
      {"Squeeze", squeeze},
      {"Transpose", transpose},
      {"Unique", unique},
      {"Unsqueeze", unsqueeze},
  };
  return rules;
}

}  // namespace taso::runtime::inference
