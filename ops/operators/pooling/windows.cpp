#include "ops/operators/pooling/windows.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
void WindowsOf<Size>::check_lists(Fit& fit, std::size_t rank) const {
  fit.list("strides", strides, rank, 1, greatest_attribute);
  fit.list("dilations", dilations, rank, 1, greatest_attribute);
  fit.list("pads", pads, 2 * rank, 0, greatest_attribute);
}

template <class Size>
Dim WindowsOf<Size>::check_axis(Fit& fit, std::size_t axis, Dim kernel) const {
  const auto too_small = [&] { return fmt::format("a stride, dilation or pad is too small along axis {}", axis); };
  fit.at_least(strides[axis], 1, too_small);
  fit.at_least(dilations[axis], 1, too_small);
  fit.at_least(pads[axis], 0, too_small);
  fit.at_least(pads[pads.size() / 2 + axis], 0, too_small);
  fit.at_least(kernel, 1,
               [&] { return fmt::format("the kernel is {} along spatial dimension {}", kernel.text(), axis); });
  // A rule may give a number that its requirements exclude.
  fit.need(Dim(strides[axis]).known().value_or(1) >= 1, too_small);
  return Dim(dilations[axis]) * (kernel - 1) + 1;
}

template <class Size>
Shape WindowsOf<Size>::infer(Fit& fit, std::span<const Dim> input, std::span<const Dim> kernel) const {
  const std::size_t rank = input.size();
  check(kernel.size() == rank, "a window has the rank of its input");
  check_lists(fit, rank);
  Shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dim span = check_axis(fit, axis, kernel[axis]);
    const Dim room = input[axis] + pads[axis] + pads[rank + axis] - span;
    fit.at_least(room, 0, [&] {
      return fmt::format("a kernel that spans {} is larger than {} padded by {} and {}", span.text(),
                         input[axis].text(), Dim(pads[axis]).text(), Dim(pads[rank + axis]).text());
    });
    if (!ceil) {
      result.push_back(floor_div(room, strides[axis]) + 1);
      continue;
    }
    // Rounding up has no polynomial for its shape.
    fit.need(!fit.is_for_rule() && room.is_static() && input[axis].is_static(),
             [&] { return fmt::format("rounding up needs a known dimension, not {}", input[axis].text()); });
    Dim windows = ceil_div(room, strides[axis]) + 1;
    // Drop a window that starts in the padding at the end: it sees nothing of the input.
    if (((windows - 1) * strides[axis]).value() >= (input[axis] + pads[axis]).value()) windows = windows - 1;
    result.push_back(windows);
  }
  return result;
}

template <class Size>
Shape WindowsOf<Size>::infer_transposed(Fit& fit, std::span<const Dim> positions, std::span<const Dim> kernel,
                                        const std::vector<Size>& more) const {
  const std::size_t rank = positions.size();
  check(kernel.size() == rank, "a window has the rank of its positions");
  check_lists(fit, rank);
  fit.list("output_padding", more, rank, 0, greatest_attribute);
  Shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dim span = check_axis(fit, axis, kernel[axis]);
    fit.at_least(more[axis], 0, [&] { return fmt::format("output_padding is too small along axis {}", axis); });
    const Dim size = Dim(strides[axis]) * (positions[axis] - 1) + span + more[axis] - pads[axis] - pads[rank + axis];
    fit.dimension(size, [&] {
      return fmt::format("pads of {} and {} leave nothing of the result along spatial dimension {}",
                         Dim(pads[axis]).text(), Dim(pads[rank + axis]).text(), axis);
    });
    result.push_back(size);
  }
  return result;
}

template Shape WindowsOf<std::int64_t>::infer(Fit&, std::span<const Dim>, std::span<const Dim>) const;
template Shape WindowsOf<Dim>::infer(Fit&, std::span<const Dim>, std::span<const Dim>) const;
template Shape WindowsOf<std::int64_t>::infer_transposed(Fit&, std::span<const Dim>, std::span<const Dim>,
                                                         const std::vector<std::int64_t>&) const;
template Shape WindowsOf<Dim>::infer_transposed(Fit&, std::span<const Dim>, std::span<const Dim>,
                                                const std::vector<Dim>&) const;

}  // namespace taso::ops::op
