// Operators that write given values into a tensor: a copy of it, or its own memory (overwriting.h).
#include <algorithm>
#include <cmath>

#include "ops/core/tensor.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"
#include "runtime/host/overwriting.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

enum class Reduction { none, add, mul, max, min };

Reduction read_reduction(const HostCall& call) {
  const std::string name = call.attributes.text("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "max") return Reduction::max;
  if (name == "min") return Reduction::min;
  refuse(call, "unknown reduction");
}

template <class T>
T reduced(Reduction reduction, T old, T update) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(reduced(reduction, static_cast<float>(old), static_cast<float>(update)));
  } else if constexpr (std::is_same_v<T, bool>) {
    const bool any = reduction == Reduction::add || reduction == Reduction::max;
    return any ? old || update : old && update;
  } else {
    // NaN on either side gives NaN, as in numpy.
    if (reduction == Reduction::max) return old < update || update != update ? update : old;
    if (reduction == Reduction::min) return update < old || update != update ? update : old;
    if constexpr (std::is_integral_v<T>) {
      const auto a = static_cast<std::uint64_t>(old), b = static_cast<std::uint64_t>(update);  // wraps around
      return static_cast<T>(reduction == Reduction::add ? a + b : a * b);
    } else {
      return reduction == Reduction::add ? old + update : old * update;
    }
  }
}

/// The result, with the elements of an operand so far: a copy, or the operand itself where that may be overwritten.
struct Changed {
  Array result;
  std::byte* data;  ///< of the result
};

Changed changed(const HostCall& call, const Array& x) {
  if (std::byte* const data = OverwritePermission::for_operand(x)) return {x, data};
  Array copy = make_array(call, x.type(), x.extents());
  std::byte* const data = copy.mutable_data();
  if (x.bytes() > 0) std::memcpy(data, x.data(), x.bytes());
  return {std::move(copy), data};
}

/// Combines element places[i] * run + k of the operand with updates[i * run + k], in the order of i.
Arrays with_runs(const HostCall& call, const Array& updates, const std::vector<std::int64_t>& places, std::size_t run,
                 Reduction reduction) {
  Changed to = changed(call, call.input(0));
  if (reduction == Reduction::none) {
    const std::size_t bytes = run * size_of(to.result.type());
    for (std::size_t i = 0; i < places.size() && bytes > 0; ++i)
      std::memcpy(to.data + unsign(places[i]) * bytes, updates.data() + i * bytes, bytes);
    return {std::move(to.result)};
  }
  with_element_type(to.result.type(), [&](auto tag) {
    using T = decltype(tag);
    T* const elements = reinterpret_cast<T*>(to.data);
    const auto from = updates.values<T>();
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t k = 0; k < run; ++k) {
        T& old = elements[unsign(places[i]) * run + k];
        old = reduced(reduction, old, from[i * run + k]);
      }
  });
  return {std::move(to.result)};
}

Arrays scatter_elements(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& updates = call.input(2);
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 0), x.rank());
  require_rank(call, 1, x.rank());
  require_type(call, 2, x.type());
  const Extents& extents = call.input(1).extents();
  require(call, updates.extents() == extents, "indices and updates must be of one shape");
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
  return with_runs(call, updates, places, 1, read_reduction(call));
}

Arrays scatter_nd(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& indices = call.input(1);
  const Array& updates = call.input(2);
  require_type(call, 2, x.type());
  require(call, indices.rank() >= 1, "the indices must be of rank 1 or more");
  const std::int64_t depth = indices.extents().back();
  require(call, depth >= 0 && depth <= sign(x.rank()), "the last dimension of the indices is out of range");
  Extents extents(indices.extents().begin(), indices.extents().end() - 1);
  const std::int64_t tuples = product(call, extents, 0, extents.size());
  extents.insert(extents.end(), x.extents().begin() + depth, x.extents().end());
  require(call, updates.extents() == extents, "the updates are not of the shape that the indices ask for");
  const std::vector<std::int64_t> values = indices_of(call, 1);
  std::vector<std::int64_t> places(unsign(updates.size() == 0 ? 0 : tuples));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t place = 0;
    for (std::size_t k = 0; k < unsign(depth); ++k)
      place = place * x.extents()[k] + index_in(call, values[i * unsign(depth) + k], x.extents()[k]);
    places[i] = place;
  }
  const std::int64_t run = product(call, x.extents(), unsign(depth), x.rank());
  return with_runs(call, updates, places, unsign(run), read_reduction(call));
}

Arrays tensor_scatter(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& update = call.input(1);
  require_type(call, 1, x.type());
  require_rank(call, 1, x.rank());
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", -2), x.rank());
  require(call, axis > 0, "the axis may not be the batch dimension");
  for (std::size_t i = 0; i < x.rank(); ++i)
    require(call, i == axis || update.extents()[i] == x.extents()[i], "cache and update differ beside the axis");
  const std::string mode = call.attributes.text("mode", "linear");
  require(call, mode == "linear" || mode == "circular", "unknown mode");
  const std::int64_t length = x.extents()[axis], added = update.extents()[axis];
  require(call, added <= length, "the update is longer than the cache");
  std::vector<std::int64_t> begins(unsign(x.extents()[0]), 0);
  if (call.has(2)) begins = integers_of(call, 2);
  require(call, sign(begins.size()) == x.extents()[0], "there must be one write index per batch");
  for (std::int64_t& begin : begins) {
    require(call, begin >= 0, "a write index is negative");
    if (mode == "circular" && length > 0) begin %= length;
    require(call, mode == "circular" || begin <= length - added, "an update reaches beyond the cache");
  }
  if (update.size() == 0) return {x};
  const std::int64_t outer = product(call, x.extents(), 0, axis), per_batch = outer / x.extents()[0];
  const std::size_t run = unsign(product(call, x.extents(), axis + 1, x.rank()));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t k = 0; k < added; ++k)
      places.push_back(i * length + (begins[unsign(i / per_batch)] + k) % length);
  return with_runs(call, update, places, run, Reduction::none);
}

}  // namespace

Family scattering() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TensorScatter", tensor_scatter},
  };
  return functions;
}

}  // namespace taso::runtime
