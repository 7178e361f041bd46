// Windows that slide over the spatial dimensions of a tensor. Shared by convolution, also transposed, and pooling.
#pragma once

#include <algorithm>
#include <string_view>

#include "ops/core/tensor.h"
#include "ops/operators/fit.h"

namespace taso::ops::op {

/// One cell of a window that lies inside the input: its index in the input, and the index of its kernel cell.
struct Tap {
  std::int64_t input = 0;
  std::int64_t kernel = 0;
};

/// One position of the window.
struct Window {
  std::int64_t output = 0;    ///< its index in the result
  std::span<const Tap> taps;  ///< its cells inside the input, row-major
  double padded_cells = 0;    ///< the number of its cells inside the padded input
};

template <class Size>
struct WindowsOf {
  const std::vector<Size>& strides;
  const std::vector<Size>& dilations;
  const std::vector<Size>& pads;  ///< all begins, then all ends
  bool ceil = false;  ///< the last window may reach beyond the padded input if it starts before the padding at the end

  /// How many window positions each dimension of `input` has.
  Shape infer(Fit& fit, std::span<const Dim> input, std::span<const Dim> kernel) const;
  /// The other way round: the dimensions over which windows slide that have these positions. Several have as many
  /// positions; `more` is added to the smallest.
  Shape infer_transposed(Fit& fit, std::span<const Dim> positions, std::span<const Dim> kernel,
                         const std::vector<Size>& more) const;

  /// Calls `visit(Window)` for every position, in row-major order.
  template <class Visit>
  void for_each(const Extents& input, const Extents& kernel, const Extents& output, Visit&& visit) const {
    const std::size_t rank = input.size();
    std::vector<Tap> taps, longer;
    std::int64_t position = 0;
    for_each_index(output, [&](const Extents& index) {
      double padded_cells = 1;
      taps.assign(1, Tap{});
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t step = dilations[axis];
        const std::int64_t start = index[axis] * strides[axis] - pads[axis];
        // The number of cells k with start + k * step < end.
        const auto cells_before = [&](std::int64_t end) {
          return std::clamp<std::int64_t>(end <= start ? 0 : (end - start - 1) / step + 1, 0, kernel[axis]);
        };
        const std::int64_t first = cells_before(0), last = cells_before(input[axis]);
        padded_cells *= static_cast<double>(cells_before(input[axis] + pads[rank + axis]));
        longer.clear();
        for (const Tap& tap : taps)
          for (std::int64_t k = first; k < last; ++k)
            longer.push_back({tap.input * input[axis] + start + k * step, tap.kernel * kernel[axis] + k});
        taps.swap(longer);
      }
      visit(Window{position++, taps, padded_cells});
    });
  }

 private:
  void check_lists(Fit& fit, std::size_t rank) const;
  /// Checks the attributes along an axis. Returns how much of the input a window spans.
  Dim check_axis(Fit& fit, std::size_t axis, Dim kernel) const;
};

using Windows = WindowsOf<std::int64_t>;

/// The dimensions after batch and channel.
inline Extents spatial(const Extents& extents) { return Extents(extents.begin() + 2, extents.end()); }

}  // namespace taso::ops::op
