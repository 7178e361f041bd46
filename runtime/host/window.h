// The geometry of a window that slides over the spatial dimensions of a tensor [N, C, …], for convolutions and pooling.
#pragma once

#include "runtime/host/operand.h"

namespace taso::runtime {

struct Window {
  Extents input, kernel, output;  ///< spatial dimensions only
  std::vector<std::int64_t> strides, dilations, begin, end;
};

/// Reads only strides, dilations and pads. Leaves the output empty, and auto_pad to the caller.
Window read_steps(const HostCall& call, Extents input, Extents kernel);
/// Reads strides, dilations, pads and auto_pad, and computes the output's extents.
Window read_window(const HostCall& call, Extents input, Extents kernel, bool ceil_mode);

/// For each output place, the input places under the window, as offsets into one [spatial…] plane.
struct Taps {
  std::vector<std::size_t> first;     ///< first[i] to first[i + 1] are the entries of output i in the next two
  std::vector<std::int64_t> offset;   ///< of the input element
  std::vector<std::int64_t> element;  ///< of the kernel
  std::vector<std::int64_t> padded;   ///< per output: the number of window places in the input or its padding
};
Taps taps_of(const HostCall& call, const Window& window);

/// The spatial dimensions of [N, C, …]; refuses lower ranks.
Extents spatial_of(const HostCall& call, const Array& x);

}  // namespace taso::runtime
