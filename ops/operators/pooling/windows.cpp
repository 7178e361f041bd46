#include "ops/operators/pooling/windows.h"

#include <fmt/format.h>

namespace taso::ops::op {

template <class Size>
Shape WindowsOf<Size>::infer(Fit& fit, std::span<const Dim> input, std::span<const Dim> kernel) const {
  const std::size_t rank = input.size();
  check(kernel.size() == rank, "a window has the rank of its input");
  fit.list("strides", strides, rank, 1, greatest_attribute);
  fit.list("dilations", dilations, rank, 1, greatest_attribute);
  fit.list("pads", pads, 2 * rank, 0, greatest_attribute);
  Shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto too_small = [&] { return fmt::format("a stride, dilation or pad is too small along axis {}", axis); };
    fit.at_least(strides[axis], 1, too_small);
    fit.at_least(dilations[axis], 1, too_small);
    fit.at_least(pads[axis], 0, too_small);
    fit.at_least(pads[rank + axis], 0, too_small);
    fit.at_least(kernel[axis], 1,
                 [&] { return fmt::format("the kernel is {} along spatial dimension {}", kernel[axis].text(), axis); });
    const Dim span = Dim(dilations[axis]) * (kernel[axis] - 1) + 1;
    const Dim room = input[axis] + pads[axis] + pads[rank + axis] - span;
    fit.at_least(room, 0, [&] {
      return fmt::format("a kernel that spans {} is larger than {} padded by {} and {}", span.text(),
                         input[axis].text(), Dim(pads[axis]).text(), Dim(pads[rank + axis]).text());
    });
    if (!ceil) {
      // A rule may give a number that its requirements exclude.
      fit.need(Dim(strides[axis]).known().value_or(1) >= 1, too_small);
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

template Shape WindowsOf<std::int64_t>::infer(Fit&, std::span<const Dim>, std::span<const Dim>) const;
template Shape WindowsOf<Dim>::infer(Fit&, std::span<const Dim>, std::span<const Dim>) const;

}  // namespace taso::ops::op
