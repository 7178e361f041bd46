// Convolution of each channel with its own kernel: too thin for matrix products, so it sweeps the planes directly.
#include <algorithm>
#include <cstring>

#include "ops/support/threads.h"
#include "runtime/host/kernels/conv.h"
#include "runtime/host/kernels/scratch.h"
#include "runtime/host/kernels/vectorise.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

/// A plane that includes its padding.
template <class T>
struct PaddedPlane {
  T* data;
  int64_t height, width;
};

/// Adds the share of one kernel position to a line: out[i] += weight * line[i * stride].
template <class T>
void add_share(int64_t count, T weight, const T* line, int64_t stride, T* out) {
  if (stride == 1) {
    TASO_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) out[i] += weight * line[i];
  } else if (stride == 2) {
    TASO_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) out[i] += weight * line[i * 2];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] += weight * line[i * stride];
  }
}

/// A whole 3 x 3 kernel at once, with the nine products of a position in registers.
template <int Stride, class T>
void sweep_3x3(int64_t count, const T* w, T bias, const T* line, int64_t width, T* out) {
  const T *first = line, *second = line + width, *third = line + 2 * width;
  const T w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
  TASO_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i * Stride;
    T sum = bias + w0 * first[at] + w1 * first[at + 1] + w2 * first[at + 2];
    sum += w3 * second[at] + w4 * second[at + 1] + w5 * second[at + 2];
    sum += w6 * third[at] + w7 * third[at + 1] + w8 * third[at + 2];
    out[i] = sum;
  }
}

template <class T>
void convolve_plane(const ConvGeometry& g, const PaddedPlane<T>& plane, const T* w, T bias, T* y) {
  const int64_t height = g.out[0], width = g.out[1];
  const bool small = g.kernel[0] == 3 && g.kernel[1] == 3 && g.dilations[0] == 1 && g.dilations[1] == 1;
  if (small && g.strides[0] == 1 && g.strides[1] == 1) {
    // Computes one long line over the padded width and copies the valid columns, because rows are often shorter than a
    // vector.
    T* wide = scratch<T, 3>(static_cast<std::size_t>(height * plane.width));
    sweep_3x3<1>((height - 1) * plane.width + width, w, bias, plane.data, plane.width, wide);
    for (int64_t row = 0; row < height; ++row)
      std::memcpy(y + row * width, wide + row * plane.width, static_cast<std::size_t>(width) * sizeof(T));
    return;
  }
  for (int64_t row = 0; row < height; ++row) {
    const T* line = plane.data + row * g.strides[0] * plane.width;
    T* out = y + row * width;
    if (small && g.strides[1] == 2) {
      sweep_3x3<2>(width, w, bias, line, plane.width, out);
      continue;
    }
    std::fill_n(out, width, bias);
    for (int64_t i = 0; i < g.kernel[0]; ++i)
      for (int64_t j = 0; j < g.kernel[1]; ++j)
        add_share(width, w[i * g.kernel[1] + j], line + i * g.dilations[0] * plane.width + j * g.dilations[1],
                  g.strides[1], out);
  }
}

}  // namespace

template <class T>
void convolve_planes(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y, unsigned threads) {
  const int64_t in_size = count(g.in), out_size = count(g.out), kernel_size = count(g.kernel);
  // The part of the padded input that the windows cover.
  const int64_t height = (g.out[0] - 1) * g.strides[0] + (g.kernel[0] - 1) * g.dilations[0] + 1;
  const int64_t width = (g.out[1] - 1) * g.strides[1] + (g.kernel[1] - 1) * g.dilations[1] + 1;
  const int64_t top = std::min(g.pads[0], height), left = std::min(g.pads[1], width);
  const int64_t rows = std::clamp<int64_t>(height - top, 0, g.in[0]),
                columns = std::clamp<int64_t>(width - left, 0, g.in[1]);
  const int64_t grain = std::max<int64_t>(1, (1 << 17) / (out_size * kernel_size + height * width));
  parallel_ranges(threads, g.batch * g.groups, grain, [&](int64_t begin, int64_t end) {
    // Vectors may read a little beyond the last window, but not beyond this buffer.
    T* padded = scratch<T, 2>(static_cast<std::size_t>(height * width));
    std::fill_n(padded, height * width, T(0));
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t channel = plane % g.groups;
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(padded + (row + top) * width + left, x + plane * in_size + row * g.in[1],
                    static_cast<std::size_t>(columns) * sizeof(T));
      convolve_plane<T>(g, {padded, height, width}, w + channel * kernel_size, bias != nullptr ? bias[channel] : T(0),
                        y + plane * out_size);
    }
  });
}

template void convolve_planes(const ConvGeometry&, const float*, const float*, const float*, float*, unsigned);
template void convolve_planes(const ConvGeometry&, const double*, const double*, const double*, double*, unsigned);

}  // namespace taso::runtime::kernels
