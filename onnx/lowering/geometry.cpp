#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "onnx/lowering/lowering.h"
#include "runtime/host/inference/rules.h"

namespace taso::onnx::lowering {
namespace {

/// More parts than this are joined and cut by halves. In a chain every part is contained in all later ones, so that
/// shapes and numbers take quadratic space.
constexpr std::size_t most_in_row = 256;

/// Our operator joins two; more operands are nested from the left.
Lowered concat(const LoweringCall& call) {
  const std::size_t parts = call.inputs.size();
  if (!call.has(0)) return std::nullopt;
  const std::int64_t axis = LoweringCall::axis(call.attributes.integer("axis", 1), call.rank(0));
  for (std::size_t i = 1; i < parts; ++i)
    if (!call.has(i)) return std::nullopt;
  if (parts <= most_in_row) {
    Value result = call.inputs[0];
    for (std::size_t i = 1; i < parts; ++i) result = call.apply(op::Concat{.axis = axis}, {result, call.inputs[i]});
    return one(result);
  }
  std::vector<Value> level(call.inputs.begin(), call.inputs.end());
  while (level.size() > 1) {
    std::vector<Value> pairs;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2)
      pairs.push_back(call.apply(op::Concat{.axis = axis}, {level[i], level[i + 1]}));
    if (level.size() % 2 == 1) pairs.push_back(level.back());
    level = std::move(pairs);
  }
  return one(level.front());
}

/// The lengths of the parts: an attribute before opset 13, an operand from then on, otherwise equal shares.
std::optional<std::vector<Dim>> split_lengths(const LoweringCall& call, const Dim& whole) {
  if (call.opset < 13) {
    const auto lengths = call.attributes.integers("split");
    if (!lengths.empty()) return std::vector<Dim>(lengths.begin(), lengths.end());
  } else if (call.has(1)) {
    return call.dims(1);
  }
  const auto parts = static_cast<std::int64_t>(call.outputs);
  const std::int64_t named = call.attributes.integer("num_outputs", parts);
  if (named != parts) return std::nullopt;
  if (call.opset < 18 || exact_div(whole, Dim(parts))) {
    const auto share = exact_div(whole, Dim(parts));
    if (!share) return std::nullopt;
    return std::vector<Dim>(call.outputs, *share);
  }
  // From opset 18 on the last part may be shorter.
  const auto known = whole.known();
  if (!known || *known < parts || *known > std::numeric_limits<std::int64_t>::max() / 2) return std::nullopt;
  const std::int64_t share = (*known + parts - 1) / parts;
  std::vector<Dim> lengths(call.outputs, Dim(share));
  lengths.back() = Dim(*known - share * (parts - 1));
  return lengths;
}

std::vector<Value> split_by_halves(const LoweringCall& call, std::int64_t axis, const std::vector<Dim>& lengths) {
  struct Stretch {
    Value value;
    std::size_t begin, end;
  };
  std::vector<Value> parts(lengths.size());
  std::vector<Stretch> open{{call.inputs[0], 0, lengths.size()}};
  while (!open.empty()) {
    const Stretch stretch = open.back();
    open.pop_back();
    if (stretch.end - stretch.begin == 1) {
      parts[stretch.begin] = stretch.value;
      continue;
    }
    const std::size_t middle = stretch.begin + (stretch.end - stretch.begin) / 2;
    Dim length = 0;
    for (std::size_t i = stretch.begin; i < middle; ++i) length = length + lengths[i];
    const Value operand[] = {stretch.value};
    const Node& node = call.pool.add(op::Split{.axis = axis, .at = length}, operand);
    open.push_back({node.output(1), middle, stretch.end});
    open.push_back({node.output(0), stretch.begin, middle});
  }
  return parts;
}

/// Our operator cuts in two; more parts are cut off one after the other.
Lowered split(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  const std::int64_t axis = LoweringCall::axis(call.attributes.integer("axis", 0), call.rank(0));
  const Dim whole = call.shape(0)[static_cast<std::size_t>(axis)];
  const auto lengths = split_lengths(call, whole);
  if (!lengths || lengths->size() != call.outputs) return std::nullopt;
  Dim sum = 0;
  for (const Dim& length : *lengths) {
    if (length.is_static() && length.value() < 0) return std::nullopt;
    sum = sum + length;
  }
  if (sum != whole) return std::nullopt;
  if (lengths->size() > most_in_row) return split_by_halves(call, axis, *lengths);
  std::vector<Value> parts;
  Value rest = call.inputs[0];
  for (std::size_t i = 0; i + 1 < lengths->size(); ++i) {
    const Value operand[] = {rest};
    const Node& node = call.pool.add(op::Split{.axis = axis, .at = (*lengths)[i]}, operand);
    parts.push_back(node.output(0));
    rest = node.output(1);
  }
  parts.push_back(rest);
  return parts;
}

/// A bound of a slice, clamped as in ONNX; nothing if that cannot be decided for every value of the unknowns.
std::optional<Dim> slice_bound(const Dim& bound, const Dim& size) {
  if (!bound.is_static()) return bound == size ? std::optional(bound) : std::nullopt;
  const std::int64_t at = bound.value();
  if (const auto known = size.known()) return Dim(std::clamp<std::int64_t>(at < 0 ? at + *known : at, 0, *known));
  if (at == 0) return Dim(0);
  // Larger than any dimension of a tensor.
  if (at >= std::numeric_limits<std::int32_t>::max()) return size;
  if (at == -1 && !runtime::inference::may_vanish(size)) return size - 1;
  return std::nullopt;
}

/// Every `step`-th element from `begin` to `end`: one column of the block, reshaped to a table with `step` columns. The
/// table starts before the block if it would otherwise end after the operand. Nothing if it does not fit.
std::optional<Value> every(const LoweringCall& call, const Value& value, std::int64_t axis, std::int64_t step,
                           const Dim& begin, const Dim& end) {
  const auto at = static_cast<std::size_t>(axis);
  const auto size = value.shape()[at].known();
  if (!size || !begin.is_static() || !end.is_static() || begin.value() >= end.value()) return std::nullopt;
  if (step >= end.value() - begin.value())
    return call.apply(op::Slice{.axis = axis, .begin = begin, .end = begin + 1}, {value});
  const std::int64_t rows = (end.value() - begin.value() + step - 1) / step, length = rows * step;
  const std::int64_t column = std::max<std::int64_t>(0, begin.value() + length - *size), first = begin.value() - column;
  if (first < 0) return std::nullopt;
  Value table = value;
  if (length != *size) table = call.apply(op::Slice{.axis = axis, .begin = first, .end = first + length}, {table});
  Shape shape = table.shape();
  shape[at] = rows;
  Shape apart = shape;
  apart.insert(apart.begin() + axis + 1, Dim(step));
  table = call.reshape(table, apart);
  return call.reshape(call.apply(op::Slice{.axis = axis + 1, .begin = column, .end = column + 1}, {table}), shape);
}

/// Cuts a block, axis by axis.
Lowered slice(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  std::optional<std::vector<Dim>> starts, ends;
  std::optional<std::vector<std::int64_t>> axes, steps;
  if (call.opset < 10) {
    const auto list = [&](std::string_view name) {
      const auto values = call.attributes.integers(name);
      return std::vector<Dim>(values.begin(), values.end());
    };
    starts = list("starts");
    ends = list("ends");
    if (call.attributes.has("axes")) axes = call.attributes.integers("axes");
  } else {
    starts = call.dims(1);
    ends = call.dims(2);
    if (call.has(3) && !(axes = call.integers(3))) return std::nullopt;
    if (call.has(4) && !(steps = call.integers(4))) return std::nullopt;
  }
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (axes->size() != starts->size() || (steps && steps->size() != starts->size())) return std::nullopt;
  if (steps && std::any_of(steps->begin(), steps->end(), [](std::int64_t step) { return step < 1; }))
    return std::nullopt;
  Value result = call.inputs[0];
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = LoweringCall::axis((*axes)[i], call.rank(0));
    if (!seen.insert(axis).second) return std::nullopt;
    const Dim size = result.shape()[static_cast<std::size_t>(axis)];
    const auto begin = slice_bound((*starts)[i], size);
    auto end = slice_bound((*ends)[i], size);
    if (!begin || !end) return std::nullopt;
    if (begin->is_static() && end->is_static() && end->value() < begin->value()) end = begin;
    // With unknowns, the block must have a length for every value of them: it starts at the front or ends at the end.
    const bool decided = (begin->is_static() && end->is_static()) || *begin == Dim(0) || *end == size;
    if (!decided) return std::nullopt;
    if (steps && (*steps)[i] > 1) {
      const auto taken = every(call, result, axis, (*steps)[i], *begin, *end);
      if (!taken) return std::nullopt;
      result = *taken;
      continue;
    }
    if (*begin == Dim(0) && *end == size) continue;
    result = call.apply(op::Slice{.axis = axis, .begin = *begin, .end = *end}, {result});
  }
  return one(result);
}

/// Covers known indices that follow one another: a block, whose axis is dropped for a single index. Exporters write
/// x[:, 0] in this way. Integers stay as they are: they are shapes, about which more is known elsewhere.
Lowered gather(const LoweringCall& call) {
  if (!call.has(0) || !call.has(1) || !is_floating(call.element(0)) || call.rank(1) > 1) return std::nullopt;
  const auto indices = call.integers(1);
  if (!indices || indices->empty()) return std::nullopt;
  const std::int64_t axis = LoweringCall::axis(call.attributes.integer("axis", 0), call.rank(0));
  const auto at = static_cast<std::size_t>(axis);
  const Dim size = call.shape(0)[at];
  const std::int64_t first = indices->front(), last = indices->back();
  for (std::size_t i = 1; i < indices->size(); ++i)
    if ((*indices)[i] != (*indices)[i - 1] + 1) return std::nullopt;
  // All are counted from the same side, and exist for every value of the unknowns.
  if ((first < 0) != (last < 0) || !surely_at_least(size, first < 0 ? -first : last + 1)) return std::nullopt;
  const Dim begin = first < 0 ? size + first : Dim(first);
  Value block = call.inputs[0];
  if (size != Dim(std::ssize(*indices)))
    block = call.apply(op::Slice{.axis = axis, .begin = begin, .end = begin + std::ssize(*indices)}, {block});
  if (call.rank(1) == 1) return one(block);
  Shape shape = call.shape(0);
  shape.erase(shape.begin() + axis);
  return one(call.reshape(block, shape));
}

Lowered pad(const LoweringCall& call) {
  if (!call.has(0) || call.attributes.text("mode", "constant") != "constant") return std::nullopt;
  const std::size_t rank = call.rank(0);
  std::vector<std::int64_t> pads;
  double value = 0;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (call.opset < 11) {
    pads = call.attributes.integers("pads");
    value = call.attributes.number("value", 0);
  } else {
    const auto known = call.integers(1);
    if (!known) return std::nullopt;
    pads = *known;
    if (call.has(2)) {
      const auto constant = call.number(2);
      // A 64-bit integer need not fit into a double.
      if (!constant || (is_integer(call.element(0)) && *constant != 0)) return std::nullopt;
      value = *constant;
    }
    if (call.has(3)) {
      const auto chosen = call.integers(3);
      if (!chosen) return std::nullopt;
      axes = *chosen;
    }
  }
  if (pads.size() != 2 * axes.size() || !std::isfinite(value)) return std::nullopt;
  op::Pad pad{
      .before = std::vector<std::int64_t>(rank, 0), .after = std::vector<std::int64_t>(rank, 0), .value = value};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(LoweringCall::axis(axes[i], rank));
    pad.before[axis] = pads[i];
    pad.after[axis] = pads[axes.size() + i];
    if (pads[i] < 0 || pads[axes.size() + i] < 0) return std::nullopt;
  }
  const auto none = [](std::int64_t amount) { return amount == 0; };
  if (std::all_of(pads.begin(), pads.end(), none)) return one(call.inputs[0]);
  return one(call.apply(pad, {call.inputs[0]}));
}

/// Whether `copied` is 0 wherever `dim` is.
bool is_zero_with(const Dim& copied, const Dim& dim) {
  if (copied == dim || exact_div(copied, dim)) return true;
  const auto times = surely_non_negative(copied) ? exact_div(dim, copied) : std::nullopt;
  return times && surely_at_least(*times, 1);
}

Lowered reshape(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  auto target = call.dims(1);
  if (!target) return std::nullopt;
  const Shape& from = call.shape(0);
  const bool allow_zero = call.attributes.integer("allowzero", 0) != 0;
  std::optional<std::size_t> open;
  Dim rest = 1;
  for (std::size_t i = 0; i < target->size(); ++i) {
    Dim& dim = (*target)[i];
    if (dim == Dim(0) && !allow_zero) {
      if (i >= from.size()) return std::nullopt;
      dim = from[i];
    }
    // A number that is 0 or -1 at run time would mean something else, unless 0 copies an extent that is 0 then.
    if (!dim.is_static() && !surely_at_least(dim, 1)) {
      if (!surely_non_negative(dim) || (!allow_zero && i < from.size() && !is_zero_with(from[i], dim)))
        return std::nullopt;
    }
    if (dim == Dim(-1)) {
      if (open) return std::nullopt;
      open = i;
    } else {
      rest = rest * dim;
    }
  }
  if (open) {
    if (rest == Dim(0)) return std::nullopt;
    const auto quotient = exact_div(count(from), rest);
    if (!quotient) return std::nullopt;
    (*target)[*open] = *quotient;
  }
  return one(call.reshape(call.inputs[0], *target));
}

Lowered flatten(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  std::int64_t axis = call.attributes.integer("axis", 1);
  if (axis < -rank || axis > rank) return std::nullopt;
  if (axis < 0) axis += rank;
  const Shape& shape = call.shape(0);
  return one(call.reshape(call.inputs[0], {count(Shape(shape.begin(), shape.begin() + axis)),
                                           count(Shape(shape.begin() + axis, shape.end()))}));
}

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, an operand from then on.
std::optional<std::vector<std::int64_t>> listed_axes(const LoweringCall& call) {
  if (call.opset >= 13) return call.integers(1);
  if (!call.attributes.has("axes")) return std::nullopt;
  return call.attributes.integers("axes");
}

Lowered squeeze(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  const Shape& shape = call.shape(0);
  std::set<std::int64_t> dropped;
  if (const auto axes = listed_axes(call)) {
    for (const std::int64_t axis : *axes) dropped.insert(LoweringCall::axis(axis, shape.size()));
  } else {
    if (call.has(1) || !is_static(shape)) return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == Dim(1)) dropped.insert(static_cast<std::int64_t>(i));
  }
  Shape target;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!dropped.contains(static_cast<std::int64_t>(i)))
      target.push_back(shape[i]);
    else if (shape[i] != Dim(1))
      return std::nullopt;
  }
  return one(call.reshape(call.inputs[0], target));
}

Lowered unsqueeze(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  const auto axes = listed_axes(call);
  if (!axes) return std::nullopt;
  const std::size_t rank = call.rank(0) + axes->size();
  std::set<std::int64_t> added;
  for (const std::int64_t axis : *axes)
    if (!added.insert(LoweringCall::axis(axis, rank)).second) return std::nullopt;
  Shape target;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i)
    target.push_back(added.contains(static_cast<std::int64_t>(i)) ? Dim(1) : call.shape(0)[next++]);
  return one(call.reshape(call.inputs[0], target));
}

/// Covers only an expansion that does nothing.
Lowered expand(const LoweringCall& call) {
  if (!call.has(0)) return std::nullopt;
  const auto target = call.dims(1);
  if (!target || broadcast(call.shape(0), *target) != call.shape(0)) return std::nullopt;
  return one(call.inputs[0]);
}

}  // namespace

Family geometry() {
  static constexpr std::pair<std::string_view, LowerFunction> table[] = {
      {"Concat", concat},   {"Split", split},     {"Slice", slice},         {"Pad", pad},       {"Reshape", reshape},
      {"Flatten", flatten}, {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze}, {"Expand", expand}, {"Gather", gather}};
  return table;
}

}  // namespace taso::onnx::lowering
