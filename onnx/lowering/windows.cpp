#include "onnx/lowering/windows.h"

#include <algorithm>

namespace taso::onnx::lowering {

std::optional<Windows> read_steps(const LoweringCall& call, const std::vector<std::int64_t>& kernel) {
  const std::size_t rank = kernel.size();
  const std::vector<std::int64_t> ones(rank, 1);
  Windows windows{call.attributes.integers("strides", ones), call.attributes.integers("dilations", ones),
                  call.attributes.integers("pads", std::vector<std::int64_t>(2 * rank, 0))};
  if (windows.strides.size() != rank || windows.dilations.size() != rank || windows.pads.size() != 2 * rank)
    return std::nullopt;
  const auto small = [](std::int64_t value) { return value >= 1 && value < (std::int64_t{1} << 31); };
  if (!std::all_of(windows.strides.begin(), windows.strides.end(), small) ||
      !std::all_of(windows.dilations.begin(), windows.dilations.end(), small) ||
      !std::all_of(kernel.begin(), kernel.end(), small))
    return std::nullopt;
  return windows;
}

std::optional<Windows> read_windows(const LoweringCall& call, const std::vector<std::int64_t>& kernel) {
  std::optional<Windows> read = read_steps(call, kernel);
  if (!read) return std::nullopt;
  const std::size_t rank = kernel.size();
  Windows& windows = *read;
  const std::string mode = call.attributes.text("auto_pad", "NOTSET");
  if (mode == "NOTSET") return windows;
  windows.pads.assign(2 * rank, 0);
  if (mode == "VALID") return windows;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * windows.dilations[i] + 1;
    std::int64_t total = 0;
    if (windows.strides[i] == 1) {
      total = reach - 1;
    } else {
      const auto size = call.shape(0)[2 + i].known();
      if (!size || *size <= 0 || *size >= (std::int64_t{1} << 40)) return std::nullopt;
      const std::int64_t outputs = (*size + windows.strides[i] - 1) / windows.strides[i];
      total = std::max<std::int64_t>(0, (outputs - 1) * windows.strides[i] + reach - *size);
    }
    // The extra cell of an odd total goes to the end with SAME_UPPER, to the start with SAME_LOWER.
    const std::int64_t lesser = total / 2, greater = total - lesser;
    windows.pads[i] = mode == "SAME_UPPER" ? lesser : greater;
    windows.pads[rank + i] = total - windows.pads[i];
  }
  return windows;
}

}  // namespace taso::onnx::lowering
