#include "runtime/host/window.h"

#include <algorithm>

#include "ops/core/tensor.h"

namespace taso::runtime {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 31;  // of each number, so that products fit into 64 bits

std::vector<std::int64_t> read(const HostCall& call, std::string_view name, std::size_t count, std::int64_t otherwise,
                               std::int64_t least) {
  std::vector<std::int64_t> values = call.attributes.integers(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) refuse(call, fmt::format("attribute '{}' needs {} numbers", name, count));
  for (const std::int64_t value : values)
    if (value < least || value > largest) refuse(call, fmt::format("attribute '{}' is out of range", name));
  return values;
}

}  // namespace

Window read_steps(const HostCall& call, Extents input, Extents kernel) {
  const std::size_t rank = input.size();
  require(call, kernel.size() == rank, "the kernel must have one extent per spatial dimension");
  for (const std::int64_t extent : kernel)
    require(call, extent > 0 && extent <= largest, "a kernel extent is out of range");
  for (const std::int64_t extent : input) require(call, extent <= most_elements, "the input is too large");
  Window window{std::move(input), std::move(kernel), {}, {}, {}, {}, {}};
  window.strides = read(call, "strides", rank, 1, 1);
  window.dilations = read(call, "dilations", rank, 1, 1);
  const std::vector<std::int64_t> pads = read(call, "pads", 2 * rank, 0, -largest);
  window.begin.assign(pads.begin(), pads.begin() + sign(rank));
  window.end.assign(pads.begin() + sign(rank), pads.end());
  return window;
}

Window read_window(const HostCall& call, Extents input, Extents kernel, bool ceil_mode) {
  Window window = read_steps(call, std::move(input), std::move(kernel));
  const std::size_t rank = window.input.size();
  const std::string auto_pad = call.attributes.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  require(call, same || auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad.empty(), "unknown auto_pad");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t in = window.input[i], stride = window.strides[i];
    const std::int64_t reach = times(call, window.kernel[i] - 1, window.dilations[i]) + 1;
    if (auto_pad == "VALID") window.begin[i] = window.end[i] = 0;
    if (same) {
      const std::int64_t out = (in + stride - 1) / stride;
      const std::int64_t total = std::max<std::int64_t>(0, times(call, out - 1, stride) + reach - in);
      window.begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.end[i] = total - window.begin[i];
      window.output.push_back(out);
      continue;
    }
    const std::int64_t room = in + window.begin[i] + window.end[i] - reach;
    if (room < 0) refuse(call, "the window is larger than the padded input");
    std::int64_t out = room / stride + 1;
    if (ceil_mode && room % stride != 0) {
      ++out;
      // Drops a window that would start beyond the input, in the padding at the end.
      if ((out - 1) * stride >= in + window.begin[i]) --out;
    }
    window.output.push_back(out);
  }
  return window;
}

Taps taps_of(const HostCall& call, const Window& window) {
  const std::size_t rank = window.input.size();
  const auto strides = strides_of(window.input);
  const auto kernel_strides = strides_of(window.kernel);
  struct Tap {
    std::int64_t offset, element;
  };
  // First per dimension and output place; the window is the product over its dimensions.
  std::vector<std::vector<std::vector<Tap>>> lines(rank);
  std::vector<std::vector<std::int64_t>> inside(rank);
  // A larger table comes from paddings that no real model has.
  require(call, product(call, window.output, 0, rank) <= (std::int64_t{1} << 28), "the window has too many places");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t step = window.dilations[i];
    // The number of kernel elements before `limit`, if the window starts at `start`.
    const auto elements_before = [&](std::int64_t start, std::int64_t limit) {
      if (limit <= start) return std::int64_t{0};
      return std::min(window.kernel[i], (limit - start - 1) / step + 1);
    };
    for (std::int64_t out = 0; out < window.output[i]; ++out) {
      auto& line = lines[i].emplace_back();
      const std::int64_t start = out * window.strides[i] - window.begin[i];
      inside[i].push_back(elements_before(start, window.input[i] + window.end[i]));
      for (std::int64_t k = elements_before(start, 0); k < elements_before(start, window.input[i]); ++k)
        line.push_back({(start + k * step) * strides[i], k * kernel_strides[i]});
    }
  }
  Taps taps;
  std::vector<Tap> current, next;
  for_each_index(window.output, [&](const Extents& index) {
    taps.first.push_back(taps.offset.size());
    current.assign(1, {0, 0});
    std::int64_t padded = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const auto place = unsign(index[i]);
      padded *= inside[i][place];
      next.clear();
      for (const Tap& outer : current)
        for (const Tap& tap : lines[i][place]) next.push_back({outer.offset + tap.offset, outer.element + tap.element});
      current.swap(next);
    }
    for (const Tap& tap : current) {
      taps.offset.push_back(tap.offset);
      taps.element.push_back(tap.element);
    }
    taps.padded.push_back(padded);
  });
  taps.first.push_back(taps.offset.size());
  return taps;
}

Extents spatial_of(const HostCall& call, const Array& x) {
  require(call, x.rank() >= 2, "the operand must be [N, C, ...]");
  return {x.extents().begin() + 2, x.extents().end()};
}

}  // namespace taso::runtime
