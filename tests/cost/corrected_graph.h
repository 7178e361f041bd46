// Graphs in which a value is right almost everywhere and corrected in some rows or columns.
#pragma once

#include "ops/core/random.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

enum class Corrected : std::uint8_t { border, seam, both_axes, moved, joined };
inline constexpr std::array all_corrected{Corrected::border, Corrected::seam, Corrected::both_axes, Corrected::moved,
                                          Corrected::joined};

/// A convolution of 8 channels, 12 × 12, of the input or of a rearranged input, corrected by small convolutions.
inline Graph corrected_graph(std::int64_t batch, Corrected what) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const Type type{ElementType::float32, shape_of({batch, 8, 12, 12})};
  const auto filter = [&](const char* name, std::uint64_t seed) {
    Random random(seed);
    const Extents extents{8, 8, 3, 3};
    return pool.constant(name, {ElementType::float32, shape_of(extents)},
                         std::make_shared<HeldWeight>(random_array(random, ElementType::float32, extents)));
  };
  const Value fast = filter("fast", 1), right = filter("right", 2);
  const auto convolve = [&](const Value& x, const Value& w, std::vector<std::int64_t> pads) {
    return pool.apply(op::Conv{{1, 1}, {1, 1}, std::move(pads), 1}, {x, w});
  };
  const Value input = pool.input("x", type);
  graph.inputs = {input};
  const Value x = pool.apply(op::MaxPool{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, {input});
  const auto slice = [&](const Value& value, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    return pool.apply(op::Slice{axis, begin, end}, {value});
  };
  const auto join = [&](std::int64_t axis, const Value& a, const Value& b, const Value& c) {
    return pool.apply(op::Concat{axis}, {pool.apply(op::Concat{axis}, {a, b}), c});
  };
  Value half;  // of the value, for another use
  const auto fast_value = [&] {
    const Value value = convolve(x, fast, {1, 1, 1, 1});
    if (what == Corrected::joined) {
      half = slice(pool.apply(op::Exp{}, {pool.apply(op::Tanh{}, {value})}), 1, 0, 4);
      half = pool.apply(op::Transpose{{0, 1, 3, 2}}, {half});
      half = pool.apply(op::MatMul{}, {half, half});
      const Value joined = pool.apply(op::Concat{1}, {half, pool.apply(op::MatMul{}, {half, half})});
      return pool.apply(op::Reshape{*type.shape}, {pool.apply(op::Reshape{shape_of({batch, 96, 12})}, {joined})});
    }
    if (what != Corrected::moved) return value;
    const Value halves = pool.apply(op::Reshape{shape_of({batch, 8, 2, 6, 12})}, {value});  // whose rows alternate
    return pool.apply(op::Reshape{*type.shape}, {pool.apply(op::Transpose{{0, 1, 3, 2, 4}}, {halves})});
  };
  // Corrections come first, so that they wait for the value only if they must.
  Value value;
  if (what == Corrected::seam || what == Corrected::moved || what == Corrected::joined) {
    const Value middle = convolve(slice(x, 2, 4, 8), right, {0, 1, 0, 1});
    value = fast_value();
    value = join(2, slice(value, 2, 0, 5), middle, slice(value, 2, 7, 12));
  } else {
    const Value top = convolve(slice(x, 2, 0, 2), right, {1, 1, 0, 1}),
                bottom = convolve(slice(x, 2, 9, 12), right, {0, 1, 1, 1});
    if (what == Corrected::both_axes) {
      const Value first = convolve(slice(x, 3, 0, 3), right, {1, 1, 1, 0}),
                  last = convolve(slice(x, 3, 10, 12), right, {1, 0, 1, 1});
      value = join(3, first, slice(fast_value(), 3, 2, 11), last);
    } else {
      value = fast_value();
    }
    value = join(2, top, slice(value, 2, 1, 10), bottom);
  }
  graph.outputs = {pool.apply(op::MaxPool{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, {value})};
  if (half) graph.outputs.push_back(pool.apply(op::Add{}, {half, slice(value, 1, 2, 6)}));  // after the corrections
  return graph;
}

}  // namespace taso::test
