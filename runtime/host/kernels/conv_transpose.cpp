#include <algorithm>

#include "ops/support/threads.h"
#include "runtime/host/kernels/conv.h"
#include "runtime/host/kernels/gemm.h"
#include "runtime/host/kernels/scratch.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

/// A task computes so many products of kernel cells and input places at a time, if it can.
constexpr int64_t rows_at_once = 64, most_at_once = 1 << 22;

int64_t ceil_quotient(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/// Adds what one kernel cell makes of all input places to one plane of the result.
template <class T>
void add_cell(const ConvGeometry& g, int64_t cell, const T* products, T* plane) {
  const std::size_t rank = g.in.size();
  int64_t offset[max_spatial], index[max_spatial] = {};
  for (std::size_t d = rank; d-- > 0;) {
    offset[d] = cell % g.kernel[d] * g.dilations[d] - g.pads[d];
    cell /= g.kernel[d];
  }
  // Along the last dimension, place l goes to l * stride + shift.
  const int64_t width = g.in[rank - 1], stride = g.strides[rank - 1], shift = offset[rank - 1];
  const int64_t first = std::clamp<int64_t>(ceil_quotient(-shift, stride), 0, width);
  const int64_t last = std::clamp<int64_t>(ceil_quotient(g.out[rank - 1] - shift, stride), first, width);
  for (int64_t line = count(g.in) / width; line > 0; --line, products += width) {
    int64_t place = 0;
    bool inside = true;
    for (std::size_t d = 0; d + 1 < rank && inside; ++d) {
      const int64_t at = index[d] * g.strides[d] + offset[d];
      inside = at >= 0 && at < g.out[d];
      if (inside) place = place * g.out[d] + at;
    }
    if (inside) {
      T* to = plane + place * g.out[rank - 1];
      for (int64_t l = first; l < last; ++l) to[l * stride + shift] += products[l];
    }
    for (std::size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < g.in[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

template <class T>
void convolve_transposed(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y, unsigned threads) {
  const int64_t in_size = count(g.in), out_size = count(g.out), cells = count(g.kernel);
  const int64_t images = g.batch * g.groups, rows = g.out_channels * cells;
  if (images == 0 || rows == 0 || in_size == 0 || out_size == 0) return;
  // The factor on the left, [groups, rows, in_channels].
  T* turned = scratch<T, 2>(static_cast<std::size_t>(g.groups * rows * g.in_channels));
  for (int64_t group = 0; group < g.groups; ++group)
    for (int64_t c = 0; c < g.in_channels; ++c)
      for (int64_t row = 0; row < rows; ++row)
        turned[(group * rows + row) * g.in_channels + c] = w[(group * g.in_channels + c) * rows + row];

  const int64_t filters =
      std::clamp<int64_t>(std::min(rows_at_once / cells, most_at_once / cells / in_size), 1, g.out_channels);
  const int64_t blocks = (g.out_channels + filters - 1) / filters;
  parallel_for(threads, images * blocks, [&](int64_t task) {
    const int64_t image = task / blocks, group = image % g.groups, begin = task % blocks * filters;
    const int64_t end = std::min(begin + filters, g.out_channels), height = (end - begin) * cells;
    T* products = scratch<T, 3>(static_cast<std::size_t>(height * in_size));
    std::fill_n(products, height * in_size, T(0));
    multiply_add<T>({height, in_size, g.in_channels, turned + (group * rows + begin * cells) * g.in_channels,
                     g.in_channels, x + image * g.in_channels * in_size, in_size, products, in_size});
    for (int64_t o = begin; o < end; ++o) {
      T* plane = y + (image * g.out_channels + o) * out_size;
      std::fill_n(plane, out_size, bias != nullptr ? bias[group * g.out_channels + o] : T(0));
      for (int64_t cell = 0; cell < cells; ++cell)
        add_cell(g, cell, products + ((o - begin) * cells + cell) * in_size, plane);
    }
  });
}

template void convolve_transposed(const ConvGeometry&, const float*, const float*, const float*, float*, unsigned);
template void convolve_transposed(const ConvGeometry&, const double*, const double*, const double*, double*, unsigned);

}  // namespace taso::runtime::kernels
