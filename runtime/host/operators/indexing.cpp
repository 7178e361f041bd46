// Operators that select elements by index or by condition.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/core/tensor.h"
#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// Copies the run of `run` bytes at from[places[i] * run] to to[i * run], for every i.
void copy_runs(std::byte* to, const std::byte* from, const std::vector<std::int64_t>& places, std::size_t run) {
  if (run == 1 || run == 2 || run == 4 || run == 8) {
    with_element_size(run, [&](auto constant) {
      constexpr std::size_t fixed = decltype(constant)::value;
      for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(to + i * fixed, from + unsign(places[i]) * fixed, fixed);
    });
  } else if (run > 0) {
    for (std::size_t i = 0; i < places.size(); ++i) std::memcpy(to + i * run, from + unsign(places[i]) * run, run);
  }
}

/// x with the entries `places` of one dimension, in that order. The places must be in range.
Array take(const HostCall& call, const Array& x, std::size_t axis, const std::vector<std::int64_t>& places,
           Extents extents) {
  Array result = make_array(call, x.type(), std::move(extents));
  if (result.size() == 0) return result;
  const std::size_t outer = unsign(product(call, x.extents(), 0, axis));
  const std::size_t run = unsign(product(call, x.extents(), axis + 1, x.rank())) * size_of(x.type());
  const std::size_t stride = run * unsign(x.extents()[axis]);
  std::byte* to = result.mutable_data();
  for (std::size_t i = 0; i < outer; ++i) copy_runs(to + i * places.size() * run, x.data() + i * stride, places, run);
  return result;
}

Arrays gather(const HostCall& call) {
  const Array& x = call.input(0);
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  std::vector<std::int64_t> places = indices_of(call, 1);
  for (std::int64_t& place : places) place = index_in(call, place, x.extents()[axis]);
  Extents extents(x.extents().begin(), x.extents().begin() + sign(axis));
  extents.insert(extents.end(), call.input(1).extents().begin(), call.input(1).extents().end());
  extents.insert(extents.end(), x.extents().begin() + sign(axis) + 1, x.extents().end());
  return {take(call, x, axis, places, std::move(extents))};
}

Arrays gather_elements(const HostCall& call) {
  const Array& x = call.input(0);
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  require_rank(call, 1, x.rank());
  const Extents& extents = call.input(1).extents();
  for (std::size_t i = 0; i < x.rank(); ++i)
    require(call, i == axis || extents[i] <= x.extents()[i], "the indices reach beyond the operand");
  std::vector<std::int64_t> places = indices_of(call, 1);
  auto strides = strides_of(x.extents());
  const std::int64_t axis_stride = strides[axis];
  strides[axis] = 0;
  std::size_t next = 0;
  for_each_index(extents, [&](const Extents& index) {
    std::int64_t& place = places[next++];
    place = index_in(call, place, x.extents()[axis]) * axis_stride + flat_index(index, strides);
  });
  Array result = make_array(call, x.type(), extents);
  copy_runs(result.mutable_data(), x.data(), places, size_of(x.type()));
  return {std::move(result)};
}

Arrays gather_nd(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& indices = call.input(1);
  require(call, indices.rank() >= 1 && x.rank() >= 1, "both operands must be of rank 1 or more");
  const std::int64_t batch_dims = call.attributes.integer("batch_dims", 0);
  require(call, batch_dims >= 0 && batch_dims < sign(std::min(x.rank(), indices.rank())), "batch_dims is out of range");
  const std::size_t batch = unsign(batch_dims);
  for (std::size_t i = 0; i < batch; ++i)
    require(call, x.extents()[i] == indices.extents()[i], "the batch dimensions of the operands differ");
  const std::int64_t depth = indices.extents().back();
  require(call, depth >= 1 && depth <= sign(x.rank() - batch), "the last dimension of the indices is out of range");
  const std::size_t inner = batch + unsign(depth);

  Extents extents(indices.extents().begin(), indices.extents().end() - 1);
  extents.insert(extents.end(), x.extents().begin() + sign(inner), x.extents().end());
  Array result = make_array(call, x.type(), std::move(extents));
  const std::vector<std::int64_t> values = indices_of(call, 1);
  const std::int64_t tuples = sign(values.size()) / depth;
  const std::int64_t batches = product(call, x.extents(), 0, batch);
  const std::int64_t per_batch = product(call, x.extents(), batch, inner);
  std::vector<std::int64_t> places(unsign(tuples));
  for (std::int64_t i = 0; i < tuples; ++i) {
    std::int64_t place = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t extent = x.extents()[batch + unsign(k)];
      place = place * extent + index_in(call, values[unsign(i * depth + k)], extent);
    }
    places[unsign(i)] = place + i / (tuples / batches) * per_batch;
  }
  const std::size_t run = unsign(product(call, x.extents(), inner, x.rank())) * size_of(x.type());
  copy_runs(result.mutable_data(), x.data(), places, run);
  return {std::move(result)};
}

Arrays compress(const HostCall& call) {
  Array x = call.input(0);
  require_type(call, 1, ElementType::boolean);
  require_rank(call, 1, 1);
  std::size_t axis = 0;
  if (call.attributes.has("axis"))
    axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  else
    x = x.reshaped({x.size()});
  const auto condition = call.input(1).values<bool>();
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i]) places.push_back(index_in(call, sign(i), x.extents()[axis]));
  Extents extents = x.extents();
  extents[axis] = sign(places.size());
  return {take(call, x, axis, places, std::move(extents))};
}

Arrays non_zero(const HostCall& call) {
  const Array& x = call.input(0);
  std::vector<std::int64_t> found;
  with_element_type(x.type(), [&](auto tag) {
    using T = decltype(tag);
    const auto values = x.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool there;
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
        there = (values[i].bits & 0x7fffu) != 0;  // zero has two signs
      else
        there = values[i] != T{};
      if (there) found.push_back(sign(i));
    }
  });
  Array result = make_array(call, ElementType::int64, {sign(x.rank()), sign(found.size())});
  const auto out = result.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::int64_t flat = found[i];
    for (std::size_t axis = x.rank(); axis-- > 0; flat /= x.extents()[axis])
      out[axis * found.size() + i] = flat % x.extents()[axis];
  }
  return {std::move(result)};
}

Arrays one_hot(const HostCall& call) {
  const Array& indices = call.input(0);
  const std::int64_t depth = [&] {
    require(call, call.input(1).size() == 1, "depth must be one number");
    return call.input(1).cast(ElementType::int64).values<std::int64_t>()[0];
  }();
  const Array& values = call.input(2);
  require(call, values.rank() == 1 && values.size() == 2, "values must be [off, on]");
  require(call, depth >= 0 && depth <= most_elements, "depth is out of range");
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", -1), indices.rank() + 1);
  Extents extents = indices.extents();
  extents.insert(extents.begin() + sign(axis), depth);
  Array result = make_array(call, values.type(), extents);
  if (result.size() == 0) return {result};
  const std::size_t size = size_of(values.type());
  std::byte* to = result.mutable_data();
  fill(to, values.data(), unsign(result.size()), size);
  const std::int64_t inner = product(call, indices.extents(), axis, indices.rank());
  const Array wide = indices.cast(ElementType::int64);
  const auto places = wide.values<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t place = places[i] < 0 ? places[i] + depth : places[i];
    if (place < 0 || place >= depth) continue;
    const std::int64_t at = (sign(i) / inner * depth + place) * inner + sign(i) % inner;
    std::memcpy(to + unsign(at) * size, values.data() + size, size);
  }
  return {std::move(result)};
}

/// A total order: numbers by size, then NaN.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return a < b;
}

/// The numbers of rows with `width` elements each, sorted by content; stable.
template <class T>
std::vector<std::int64_t> sorted_rows(std::span<const T> values, std::size_t rows, std::size_t width) {
  std::vector<std::int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    for (std::size_t i = 0; i < width; ++i) {
      const T left = values[unsign(a) * width + i], right = values[unsign(b) * width + i];
      if (before(left, right)) return true;
      if (before(right, left)) return false;
    }
    return false;
  });
  return order;
}

Arrays unique(const HostCall& call) {
  Array x = call.input(0);
  std::size_t axis = 0;
  if (call.attributes.has("axis"))
    axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  else
    x = x.reshaped({x.size()});
  // The axis comes first, so that compared elements are contiguous.
  Extents extents = x.extents();
  auto strides = strides_of(extents);
  std::rotate(extents.begin(), extents.begin() + sign(axis), extents.begin() + sign(axis) + 1);
  std::rotate(strides.begin(), strides.begin() + sign(axis), strides.begin() + sign(axis) + 1);
  const Array front = gather_strided(x, 0, strides, make_array(call, x.type(), extents)).cast(computing_type(x.type()));
  const std::size_t rows = unsign(extents[0]);
  const std::size_t width = unsign(product(call, extents, 1, extents.size()));

  std::vector<std::int64_t> first, group(rows), counts;  // per distinct row, in sorted order; `group` per row
  with_element_type(front.type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_arithmetic_v<T>) {
      const auto values = front.values<T>();
      const auto order = sorted_rows<T>(values, rows, width);
      const auto differ = [&](std::int64_t a, std::int64_t b) {
        for (std::size_t i = 0; i < width; ++i) {
          const T left = values[unsign(a) * width + i], right = values[unsign(b) * width + i];
          if (before(left, right) != before(right, left)) return true;
        }
        return false;
      };
      for (std::size_t i = 0; i < rows; ++i) {
        if (i == 0 || differ(order[i - 1], order[i])) {
          first.push_back(order[i]);
          counts.push_back(0);
        }
        group[unsign(order[i])] = sign(first.size()) - 1;
        ++counts.back();
      }
    }
  });
  if (call.attributes.integer("sorted", 1) == 0) {
    std::vector<std::size_t> by_place(first.size());
    std::iota(by_place.begin(), by_place.end(), std::size_t{0});
    std::sort(by_place.begin(), by_place.end(), [&](auto a, auto b) { return first[a] < first[b]; });
    std::vector<std::int64_t> new_first, new_counts, renumbered(first.size());
    for (const std::size_t old : by_place) {
      renumbered[old] = sign(new_first.size());
      new_first.push_back(first[old]);
      new_counts.push_back(counts[old]);
    }
    for (std::int64_t& number : group) number = renumbered[unsign(number)];
    first = std::move(new_first);
    counts = std::move(new_counts);
  }
  extents = x.extents();
  extents[axis] = sign(first.size());
  const auto list = [](const std::vector<std::int64_t>& values) {
    return Array::of<std::int64_t>({sign(values.size())}, values);
  };
  return {take(call, x, axis, first, std::move(extents)), list(first), list(group), list(counts)};
}

}  // namespace

Family indexing() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Gather", gather},      {"GatherElements", gather_elements},
      {"GatherND", gather_nd}, {"Compress", compress},
      {"NonZero", non_zero},   {"OneHot", one_hot},
      {"Unique", unique},
  };
  return functions;
}

}  // namespace taso::runtime
