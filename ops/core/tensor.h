// A dense, row-major tensor over any scalar. The operators' definitions are written with it; it has no views.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ops/core/error.h"
#include "ops/core/scalar.h"
#include "ops/core/shape.h"

namespace taso::ops {

template <class S>
struct Tensor {
  Extents extents;
  std::vector<S> data;

  Tensor() = default;
  /// A tensor filled with `fill`. S may have no default value: Z3 expressions have none.
  Tensor(Extents shape, const S& fill)
      : extents(std::move(shape)), data(static_cast<std::size_t>(count(extents)), fill) {}
  Tensor(Extents shape, std::vector<S> values) : extents(std::move(shape)), data(std::move(values)) {
    check(static_cast<std::int64_t>(data.size()) == count(extents), "the number of values matches the shape");
  }

  std::size_t rank() const { return extents.size(); }
  S& operator[](std::int64_t flat) { return data[static_cast<std::size_t>(flat)]; }
  const S& operator[](std::int64_t flat) const { return data[static_cast<std::size_t>(flat)]; }
};

template <class S>
using Tensors = std::span<const Tensor<S>>;

/// Calls `visit(index)` for every index of the shape, in row-major order.
template <class Visit>
void for_each_index(const Extents& extents, Visit&& visit) {
  if (count(extents) == 0) return;
  Extents index(extents.size(), 0);
  while (true) {
    visit(std::as_const(index));
    std::size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline std::int64_t flat_index(const Extents& index, const std::vector<std::int64_t>& strides) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat += index[i] * strides[i];
  return flat;
}

/// The strides for reading a tensor of shape `from` broadcast to `to`: 0 where it repeats.
inline std::vector<std::int64_t> broadcast_strides(const Extents& from, const Extents& to) {
  check(from.size() <= to.size(), "broadcasting never lowers the rank");
  const auto own = strides_of(from);
  std::vector<std::int64_t> strides(to.size(), 0);
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) strides[offset + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

/// The shapes of the tensors, as arguments for shape inference.
template <class S>
Shapes shapes_of(Tensors<S> tensors) {
  Shapes shapes;
  for (const auto& tensor : tensors) shapes.push_back(shape_of(tensor.extents));
  return shapes;
}

/// Applies f to each element.
template <class S, class F>
Tensor<S> map_elements(const Tensor<S>& x, F&& f) {
  Tensor<S> result = x;
  for (S& value : result.data) value = f(std::as_const(value));
  return result;
}

/// Applies f to corresponding elements, with numpy's broadcasting.
template <class S, class F>
Tensor<S> zip_elements(const Tensor<S>& a, const Tensor<S>& b, F&& f) {
  const Extents extents = broadcast(a.extents, b.extents);
  const auto a_strides = broadcast_strides(a.extents, extents);
  const auto b_strides = broadcast_strides(b.extents, extents);
  std::vector<S> data;
  data.reserve(static_cast<std::size_t>(count(extents)));
  for_each_index(extents, [&](const Extents& index) {
    data.push_back(f(a[flat_index(index, a_strides)], b[flat_index(index, b_strides)]));
  });
  return Tensor<S>(extents, std::move(data));
}

/// A tensor of shape `extents` whose element at an index is x's element at offset + index * strides.
template <class S>
Tensor<S> read(const Tensor<S>& x, Extents extents, const std::vector<std::int64_t>& strides, std::int64_t offset = 0) {
  std::vector<S> data;
  data.reserve(static_cast<std::size_t>(count(extents)));
  for_each_index(extents, [&](const Extents& index) { data.push_back(x[offset + flat_index(index, strides)]); });
  return Tensor<S>(std::move(extents), std::move(data));
}

/// A tensor of shape `extents` that holds x at position `before` and `fill` everywhere else.
template <class S>
Tensor<S> place(const Tensor<S>& x, Extents extents, const Extents& before, const S& fill) {
  Tensor<S> result(std::move(extents), fill);
  const auto strides = strides_of(result.extents);
  const std::int64_t offset = flat_index(before, strides);
  std::int64_t position = 0;
  for_each_index(x.extents, [&](const Extents& index) { result[offset + flat_index(index, strides)] = x[position++]; });
  return result;
}

}  // namespace taso::ops
