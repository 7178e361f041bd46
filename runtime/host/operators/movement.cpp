// Operators that change the shape of a tensor or the order of its elements, without looking at values.
#include <algorithm>
#include <numeric>

#include "ops/core/tensor.h"
#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"
#include "runtime/host/slice_end.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

Array reshaped(const HostCall& call, const Array& x, Extents extents) {
  if (product(call, extents, 0, extents.size()) != x.size())
    refuse(call, fmt::format("{} does not have as many elements as {}", text_of(extents), text_of(x.extents())));
  return x.reshaped(std::move(extents));
}

Arrays identity(const HostCall& call) { return {call.input(0)}; }

Arrays shape(const HostCall& call) {
  const Extents& extents = call.input(0).extents();
  const std::int64_t rank = sign(extents.size());
  const auto clamp = [rank](std::int64_t value) {
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t begin = clamp(call.attributes.integer("start", 0));
  const std::int64_t end = std::max(begin, clamp(call.attributes.integer("end", rank)));
  return {Array::of<std::int64_t>({end - begin}, Extents(extents.begin() + begin, extents.begin() + end))};
}

Arrays size(const HostCall& call) { return {Array::scalar<std::int64_t>(call.input(0).size())}; }

Arrays expand(const HostCall& call) {
  const Array& x = call.input(0);
  const Extents wanted = integers_of(call, 1);
  for (const std::int64_t extent : wanted) require(call, extent >= 0, "a dimension of the shape is negative");
  const Extents extents = broadcast(x.extents(), wanted);
  Array result = make_array(call, x.type(), extents);
  return {gather_strided(x, 0, ops::broadcast_strides(x.extents(), extents), std::move(result))};
}

Arrays tile(const HostCall& call) {
  const Array& x = call.input(0);
  const std::vector<std::int64_t> repeats = integers_of(call, 1);
  require(call, repeats.size() == x.rank(), "there must be one repeat per dimension");
  const auto own = strides_of(x.extents());
  Extents extents, paired;
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    require(call, repeats[i] >= 0, "a repeat is negative");
    extents.push_back(times(call, x.extents()[i], repeats[i]));
    paired.insert(paired.end(), {repeats[i], x.extents()[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  // Each dimension becomes a pair: the copy, and the place in it.
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return {make_array(call, x.type(), extents)};
  Array result = gather_strided(x, 0, std::move(strides), make_array(call, x.type(), paired));
  return {result.reshaped(extents)};
}

Arrays transpose(const HostCall& call) {
  const Array& x = call.input(0);
  std::vector<std::int64_t> order(x.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  order = call.attributes.integers("perm", order);
  require(call, order.size() == x.rank(), "perm must name every dimension");
  const auto own = strides_of(x.extents());
  Extents extents;
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : axes_in(call, order, x.rank())) {
    extents.push_back(x.extents()[axis]);
    strides.push_back(own[axis]);
  }
  return {gather_strided(x, 0, std::move(strides), make_array(call, x.type(), std::move(extents)))};
}

Arrays reshape(const HostCall& call) {
  const Array& x = call.input(0);
  Extents extents = integers_of(call, "shape", 1);
  const bool zero_is_zero = call.attributes.integer("allowzero", 0) != 0;
  std::optional<std::size_t> unknown;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0 && !zero_is_zero) {
      require(call, i < x.rank(), "a 0 in the shape stands for a dimension that the operand does not have");
      extents[i] = x.extents()[i];
    } else if (extents[i] == -1) {
      require(call, !unknown, "more than one -1 in the shape");
      unknown = i;
    }
  }
  if (unknown) {
    extents[*unknown] = 1;
    const std::int64_t known = product(call, extents, 0, extents.size());
    if (known == 0 ? x.size() != 0 : x.size() % known != 0)
      refuse(call, fmt::format("no dimension makes {} elements of {}", x.size(), text_of(extents)));
    extents[*unknown] = known == 0 ? 0 : x.size() / known;
  }
  return {reshaped(call, x, std::move(extents))};
}

Arrays flatten(const HostCall& call) {
  const Array& x = call.input(0);
  const std::int64_t axis = call.attributes.integer("axis", 1), rank = sign(x.rank());
  if (axis < -rank || axis > rank) refuse(call, fmt::format("axis {} is out of range for rank {}", axis, rank));
  const std::size_t cut = unsign(axis < 0 ? axis + rank : axis);
  return {reshaped(call, x, {product(call, x.extents(), 0, cut), product(call, x.extents(), cut, x.rank())})};
}

Arrays squeeze(const HostCall& call) {
  const Array& x = call.input(0);
  Extents extents;
  if (!call.has(1) && !call.attributes.has("axes")) {
    std::copy_if(x.extents().begin(), x.extents().end(), std::back_inserter(extents), [](auto e) { return e != 1; });
  } else {
    std::vector<bool> dropped(x.rank(), false);
    for (const std::size_t axis : axes_in(call, integers_of(call, "axes", 1), x.rank())) {
      require(call, x.extents()[axis] == 1, "only dimensions of 1 can be dropped");
      dropped[axis] = true;
    }
    for (std::size_t i = 0; i < x.rank(); ++i)
      if (!dropped[i]) extents.push_back(x.extents()[i]);
  }
  return {x.reshaped(std::move(extents))};
}

Arrays unsqueeze(const HostCall& call) {
  const Array& x = call.input(0);
  const std::vector<std::int64_t> axes = integers_of(call, "axes", 1);
  std::vector<bool> added(x.rank() + axes.size(), false);
  for (const std::size_t axis : axes_in(call, axes, added.size())) added[axis] = true;
  Extents extents;
  auto next = x.extents().begin();
  for (const bool is_new : added) extents.push_back(is_new ? 1 : *next++);
  return {x.reshaped(std::move(extents))};
}

Arrays concat(const HostCall& call) {
  const Array& first = call.input(0);
  require(call, call.attributes.has("axis") || call.opset < 4, "attribute 'axis' is missing");
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 1), first.rank());
  Extents extents = first.extents();
  extents[axis] = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Array& part = call.input(i);
    require_type(call, i, first.type());
    require_rank(call, i, first.rank());
    for (std::size_t k = 0; k < extents.size(); ++k)
      require(call, k == axis || part.extents()[k] == extents[k], "operands differ in a dimension other than the axis");
    extents[axis] = plus(call, extents[axis], part.extents()[axis]);
  }
  Array result = make_array(call, first.type(), extents);
  if (result.size() == 0) return {result};
  const std::size_t outer = unsign(product(call, extents, 0, axis));
  const std::size_t stride = result.bytes() / outer;
  std::byte* to = result.mutable_data();
  for (const auto& part : call.inputs) {
    const std::size_t run = part->bytes() / outer;
    for (std::size_t i = 0; i < outer && run > 0; ++i) std::memcpy(to + i * stride, part->data() + i * run, run);
    to += run;
  }
  return {std::move(result)};
}

/// The lengths of the parts of Split.
std::vector<std::int64_t> split_lengths(const HostCall& call, std::int64_t extent) {
  std::vector<std::int64_t> lengths;
  if (call.has(1) || call.attributes.has("split")) {
    lengths = integers_of(call, "split", 1);
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) {
      require(call, length >= 0, "a part is of negative length");
      sum = plus(call, sum, length);
    }
    require(call, sum == extent, "the parts do not add up to the dimension");
  } else {
    const std::int64_t parts = call.attributes.integer("num_outputs", sign(call.outputs));
    require(call, parts > 0, "there must be an output");
    require(call, call.attributes.has("num_outputs") || extent % parts == 0, "the dimension does not divide evenly");
    const std::int64_t length = extent / parts + (extent % parts != 0);
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < call.outputs && sign(i) < parts; ++i) {
      lengths.push_back(std::min(length, extent - begin));
      begin += lengths.back();
    }
  }
  require(call, lengths.size() >= call.outputs, "there are more outputs than parts");
  return lengths;
}

Arrays split(const HostCall& call) {
  const Array& x = call.input(0);
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  const auto strides = strides_of(x.extents());
  Arrays parts;
  std::int64_t begin = 0;
  const std::int64_t stride = x.size() == 0 ? 0 : strides[axis];
  for (const std::int64_t length : split_lengths(call, x.extents()[axis])) {
    Extents extents = x.extents();
    extents[axis] = length;
    parts.push_back(gather_strided(x, begin * stride, strides, make_array(call, x.type(), std::move(extents))));
    begin += length;
  }
  return parts;
}

Arrays slice(const HostCall& call) {
  const Array& x = call.input(0);
  const bool from_inputs = call.has(1) || call.opset >= 10;
  const auto list = [&](std::string_view name, std::size_t operand) {
    return from_inputs ? integers_of(call, operand) : call.attributes.integers(name);
  };
  const std::vector<std::int64_t> starts = list("starts", 1), ends = list("ends", 2);
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3) || call.attributes.has("axes")) axes = integers_of(call, "axes", 3);
  if (call.has(4)) steps = integers_of(call, 4);
  require(call, ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
          "starts, ends, axes and steps must be of one length");
  Extents extents = x.extents();
  std::vector<std::int64_t> strides = strides_of(x.extents());
  std::int64_t offset = 0;
  const std::vector<std::size_t> places = axes_in(call, axes, x.rank());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t extent = x.extents()[places[i]];
    require(call, steps[i] != 0, "a step is 0");
    require(call, !is_ambiguous_slice(ends[i], steps[i]),
            "it runs backwards to the largest number, which ONNX and ONNX Runtime understand differently; use the "
            "smallest number");
    const std::int64_t step = std::clamp(steps[i], -extent - 1, extent + 1);
    // Backwards, the slice may start at the last element and end one before the first.
    const std::int64_t last = step > 0 ? extent : extent - 1;
    const auto from_front = [extent](std::int64_t value) { return value < 0 ? value + extent : value; };
    const std::int64_t begin = std::clamp<std::int64_t>(from_front(starts[i]), 0, std::max<std::int64_t>(last, 0));
    const std::int64_t end = std::clamp<std::int64_t>(from_front(ends[i]), step > 0 ? 0 : -1, last);
    const std::int64_t count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    extents[places[i]] = extent == 0 ? 0 : std::max<std::int64_t>(count, 0);
    if (x.size() == 0) continue;  // the strides of an empty tensor have no meaning
    if (extents[places[i]] > 0) offset += begin * strides[places[i]];
    strides[places[i]] *= step;
  }
  return {gather_strided(x, offset, std::move(strides), make_array(call, x.type(), std::move(extents)))};
}

}  // namespace

Family movement() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Identity", identity}, {"Shape", shape},         {"Size", size},       {"Expand", expand},
      {"Tile", tile},         {"Transpose", transpose}, {"Reshape", reshape}, {"Flatten", flatten},
      {"Squeeze", squeeze},   {"Unsqueeze", unsqueeze}, {"Concat", concat},   {"Split", split},
      {"Slice", slice},
  };
  return functions;
}

}  // namespace taso::runtime
