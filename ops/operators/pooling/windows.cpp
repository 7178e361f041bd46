#include "ops/operators/pooling/windows.h"

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::ops::op {

Shape Windows::infer(std::string_view name, std::span<const Dim> input, std::span<const Dim> kernel) const {
  const std::size_t rank = input.size();
  check(kernel.size() == rank, "a window has the rank of its input");
  need_list(name, "strides", strides, rank, 1, greatest_attribute);
  need_list(name, "dilations", dilations, rank, 1, greatest_attribute);
  need_list(name, "pads", pads, 2 * rank, 0, greatest_attribute);
  Shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (kernel[axis].is_static() && kernel[axis].value() < 1)
      misfit(name, fmt::format("the kernel is {} along spatial dimension {}", kernel[axis].text(), axis));
    const Dim span = Dim(dilations[axis]) * (kernel[axis] - 1) + 1;
    const Dim room = input[axis] + pads[axis] + pads[rank + axis] - span;
    if (is_negative(room))
      misfit(name, fmt::format("a kernel that spans {} is larger than {} padded by {} and {}", span.text(),
                               input[axis].text(), pads[axis], pads[rank + axis]));
    if (!ceil) {
      result.push_back(floor_div(room, strides[axis]) + 1);
      continue;
    }
    if (!room.is_static() || !input[axis].is_static())
      misfit(name, fmt::format("rounding up needs a known dimension, not {}", input[axis].text()));
    Dim windows = ceil_div(room, strides[axis]) + 1;
    // Drop a window that starts in the padding at the end: it sees nothing of the input.
    if (((windows - 1) * strides[axis]).value() >= (input[axis] + pads[axis]).value()) windows = windows - 1;
    result.push_back(windows);
  }
  return result;
}

}  // namespace taso::ops::op
