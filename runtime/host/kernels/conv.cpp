#include "runtime/host/kernels/conv.h"

#include <algorithm>
#include <cstring>

#include "ops/support/threads.h"
#include "runtime/host/kernels/gemm.h"
#include "runtime/host/kernels/scratch.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == wanted; });
}

int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// A stretch of the row of one kernel position in the unrolled input: what the kernel element sees from the output
/// positions [begin, begin + length) of one line along the last dimension. `line` is null if the line lies in the
/// padding.
template <class T>
void unroll_line(const T* line, int64_t in_width, int64_t offset, int64_t stride, int64_t begin, int64_t length,
                 T* to) {
  // Position o sees line[o * stride + offset].
  const int64_t first = std::clamp(floor_quotient(-offset + stride - 1, stride), begin, begin + length);
  const int64_t last = std::clamp(floor_quotient(in_width - 1 - offset, stride) + 1, first, begin + length);
  if (line == nullptr || first == last) {
    std::fill_n(to, length, T(0));
    return;
  }
  std::fill_n(to, first - begin, T(0));
  const T* from = line + first * stride + offset;
  T* out = to + (first - begin);
  if (stride == 1)
    std::memcpy(out, from, static_cast<std::size_t>(last - first) * sizeof(T));
  else
    for (int64_t i = 0; i < last - first; ++i) out[i] = from[i * stride];
  std::fill_n(to + (last - begin), begin + length - last, T(0));
}

/// Row `row` (channel and kernel position) of the unrolled input for the flat output positions [begin, end).
template <class T>
void unroll_row(const ConvGeometry& g, const T* x, int64_t row, int64_t begin, int64_t end, T* to) {
  const std::size_t rank = g.in.size();
  int64_t offset[max_spatial], position[max_spatial];
  int64_t rest = row;
  for (std::size_t d = rank; d-- > 0;) {
    offset[d] = rest % g.kernel[d] * g.dilations[d] - g.pads[d];
    rest /= g.kernel[d];
  }
  const T* channel = x + rest * count(g.in);
  rest = begin;
  for (std::size_t d = rank; d-- > 0;) {
    position[d] = rest % g.out[d];
    rest /= g.out[d];
  }
  while (begin < end) {
    const T* line = channel;
    int64_t line_index = 0;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      const int64_t at = position[d] * g.strides[d] + offset[d];
      if (at < 0 || at >= g.in[d]) line = nullptr;
      line_index = line_index * g.in[d] + at;
    }
    if (line != nullptr) line += line_index * g.in[rank - 1];
    const int64_t length = std::min(g.out[rank - 1] - position[rank - 1], end - begin);
    unroll_line(line, g.in[rank - 1], offset[rank - 1], g.strides[rank - 1], position[rank - 1], length, to);
    to += length;
    begin += length;
    position[rank - 1] = 0;
    for (std::size_t d = rank - 1; d-- > 0;) {
      if (++position[d] < g.out[d]) break;
      position[d] = 0;
    }
  }
}

/// The size of the padded input that the windows of two dimensions cover.
double padded_size(const ConvGeometry& g) {
  double size = 1;
  for (std::size_t d = 0; d < 2; ++d)
    size *= static_cast<double>(g.out[d] - 1) * static_cast<double>(g.strides[d]) +
            static_cast<double>(g.kernel[d] - 1) * static_cast<double>(g.dilations[d]) + 1;
  return size;
}

/// Starts with the bias and adds the product to it, which saves a pass.
template <class T>
void fill_bias(const T* bias, T* y, int64_t y_step, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(y + row * y_step, columns, bias != nullptr ? bias[row] : T(0));
}

}  // namespace

template <class T>
void convolve(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y, unsigned threads) {
  const int64_t in_size = count(g.in), out_size = count(g.out);
  const int64_t depth = g.in_channels * count(g.kernel), images = g.batch * g.groups;
  if (images == 0 || g.out_channels == 0 || out_size == 0) return;
  if (g.in_channels == 1 && g.out_channels == 1 && g.in.size() == 2 &&
      padded_size(g) <= 4.0 * static_cast<double>(in_size) + 4096)
    return convolve_planes(g, x, w, bias, y, threads);

  const bool pointwise = all_are(g.kernel, 1) && all_are(g.strides, 1) && all_are(g.pads, 0) && in_size == out_size;
  Cut cut = cut_product(g.out_channels, out_size, depth, images);
  // Few positions and many channels: all threads unroll the input once, and all blocks read it. Otherwise each block of
  // columns unrolls its own part, which serves all rows and stays in the cache of its core.
  const bool at_once = !pointwise && images < 8 && out_size < 1024 && depth <= (1 << 23) / out_size;
  if (!pointwise && !at_once) {
    constexpr int64_t block_elements = 1 << 18;
    cut.rows = g.out_channels;
    const int64_t least = depth < (1 << 16) ? 128 : 16;
    cut.columns = std::min(out_size, std::max<int64_t>(least, block_elements / std::max<int64_t>(depth, 1)));
    const int64_t blocks = ((out_size + cut.columns - 1) / cut.columns + 3) / 4 * 4;  // even shares for 2 and 4 threads
    cut.columns = std::min(cut.columns, ((out_size + blocks - 1) / blocks + 15) / 16 * 16);
  }
  const int64_t row_blocks = (g.out_channels + cut.rows - 1) / cut.rows;
  const int64_t column_blocks = (out_size + cut.columns - 1) / cut.columns;

  const auto product = [&](int64_t image, int64_t row, int64_t column, int64_t columns, const T* b, int64_t b_step) {
    const int64_t group = image % g.groups;
    const int64_t rows = std::min(cut.rows, g.out_channels - row);
    const int64_t channel = group * g.out_channels + row;
    T* c = y + (image * g.out_channels + row) * out_size + column;
    fill_bias(bias != nullptr ? bias + channel : nullptr, c, out_size, rows, columns);
    multiply_add<T>({rows, columns, depth, w + channel * depth, depth, b, b_step, c, out_size});
  };

  if (pointwise) {
    parallel_for(threads, images * row_blocks * column_blocks, [&](int64_t task) {
      const int64_t column = task % column_blocks * cut.columns, rest = task / column_blocks;
      const int64_t row = rest % row_blocks * cut.rows, image = rest / row_blocks;
      product(image, row, column, std::min(cut.columns, out_size - column), x + image * depth * in_size + column,
              in_size);
    });
  } else if (at_once) {
    for (int64_t image = 0; image < images; ++image) {
      const T* from = x + image * g.in_channels * in_size;
      T* unrolled = scratch<T, 1>(static_cast<std::size_t>(depth * out_size));
      parallel_ranges(threads, depth, std::max<int64_t>(1, (1 << 15) / out_size), [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) unroll_row(g, from, row, 0, out_size, unrolled + row * out_size);
      });
      parallel_for(threads, row_blocks * column_blocks, [&](int64_t task) {
        const int64_t column = task % column_blocks * cut.columns, row = task / column_blocks * cut.rows;
        product(image, row, column, std::min(cut.columns, out_size - column), unrolled + column, out_size);
      });
    }
  } else {
    parallel_for(threads, images * column_blocks, [&](int64_t task) {
      const int64_t begin = task % column_blocks * cut.columns, image = task / column_blocks;
      const int64_t columns = std::min(cut.columns, out_size - begin);
      T* unrolled = scratch<T>(static_cast<std::size_t>(depth * columns));
      const T* from = x + image * g.in_channels * in_size;
      for (int64_t row = 0; row < depth; ++row)
        unroll_row(g, from, row, begin, begin + columns, unrolled + row * columns);
      product(image, 0, begin, columns, unrolled, columns);
    });
  }
}

template void convolve(const ConvGeometry&, const float*, const float*, const float*, float*, unsigned);
template void convolve(const ConvGeometry&, const double*, const double*, const double*, double*, unsigned);

}  // namespace taso::runtime::kernels
