#include "runtime/host/kernels/pooling.h"

#include <algorithm>

#include "ops/core/tensor.h"
#include "ops/support/threads.h"
#include "runtime/host/kernels/vectorise.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

/// The cells of the window at one output position of one dimension: `first` up to `last` are inside the input, `padded`
/// of them inside the padded input.
struct Cells {
  int64_t start = 0, first = 0, last = 0, padded = 0;
};

std::vector<std::vector<Cells>> cells_of(const PoolGeometry& g) {
  std::vector<std::vector<Cells>> all(g.in.size());
  for (std::size_t d = 0; d < g.in.size(); ++d)
    for (int64_t o = 0; o < g.out[d]; ++o) {
      const int64_t start = o * g.strides[d] - g.pads_before[d];
      const auto before = [&](int64_t end) {
        return std::clamp<int64_t>(end <= start ? 0 : (end - start - 1) / g.dilations[d] + 1, 0, g.kernel[d]);
      };
      all[d].push_back({start, before(0), before(g.in[d]), before(g.in[d] + g.pads_behind[d])});
    }
  return all;
}

/// out[i] = combine(out[i], line[i * stride]).
template <class T, class Combine>
void combine_line(int64_t count, const T* line, int64_t stride, T* out, const Combine& combine) {
  if (stride == 1) {
    TASO_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) out[i] = combine(out[i], line[i]);
  } else if (stride == 2) {
    TASO_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) out[i] = combine(out[i], line[i * 2]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = combine(out[i], line[i * stride]);
  }
}

/// Combines the windows of one line of results; `finish(out, index)` gets the finished line.
template <class T, class Combine, class Finish>
void pool(const PoolGeometry& g, const T* x, T* y, T start, unsigned threads, const Combine& combine,
          const Finish& finish) {
  const int64_t in_size = count(g.in), out_size = count(g.out);
  if (g.planes == 0 || out_size == 0) return;
  const auto cells = cells_of(g);
  const std::size_t last = g.in.size() - 1;
  // For each cell k, the range of positions of the last dimension that see it inside the input.
  std::vector<std::pair<int64_t, int64_t>> seen(static_cast<std::size_t>(g.kernel[last]), {g.out[last], 0});
  for (int64_t o = 0; o < g.out[last]; ++o) {
    const Cells& own = cells[last][static_cast<std::size_t>(o)];
    for (int64_t k = own.first; k < own.last; ++k) {
      auto& [begin, end] = seen[static_cast<std::size_t>(k)];
      begin = std::min(begin, o);
      end = std::max(end, o + 1);
    }
  }
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / (out_size * count(g.kernel)));
  parallel_ranges(threads, g.planes, grain, [&](int64_t begin_plane, int64_t end_plane) {
    Extents index(last), offset(last);
    for (int64_t plane = begin_plane; plane < end_plane; ++plane)
      for (int64_t lines = 0, line = 0; line < out_size; line += g.out[last], ++lines) {
        int64_t rest = lines;
        bool empty = false;
        for (std::size_t d = last; d-- > 0; rest /= g.out[d]) {
          index[d] = rest % g.out[d];
          const Cells& own = cells[d][static_cast<std::size_t>(index[d])];
          offset[d] = own.first;
          empty |= own.first >= own.last;
        }
        T* out = y + plane * out_size + line;
        std::fill_n(out, g.out[last], start);
        while (!empty) {
          const T* from = x + plane * in_size;
          int64_t at = 0;
          for (std::size_t d = 0; d < last; ++d)
            at = at * g.in[d] + cells[d][static_cast<std::size_t>(index[d])].start + offset[d] * g.dilations[d];
          from += at * g.in[last];
          for (int64_t k = 0; k < g.kernel[last]; ++k) {
            const auto [begin, end] = seen[static_cast<std::size_t>(k)];
            if (begin >= end) continue;
            const int64_t first = begin * g.strides[last] - g.pads_before[last] + k * g.dilations[last];
            combine_line(end - begin, from + first, g.strides[last], out + begin, combine);
          }
          std::size_t d = last;
          while (d > 0 && ++offset[d - 1] == cells[d - 1][static_cast<std::size_t>(index[d - 1])].last) {
            --d;
            offset[d] = cells[d][static_cast<std::size_t>(index[d])].first;
          }
          if (d == 0) break;
        }
        finish(out, index, cells);
      }
  });
}

}  // namespace

template <class T>
void max_pool(const PoolGeometry& g, const T* x, T* y, unsigned threads) {
  pool(
      g, x, y, Math<T>::lowest(), threads, [](T a, T b) { return ((a > b) | (a != a)) ? a : b; },
      [](T*, const Extents&, const auto&) {});
}

template <class T>
void average_pool(const PoolGeometry& g, bool count_padding, const T* x, T* y, unsigned threads) {
  const auto divide = [&](T* out, const Extents& index, const std::vector<std::vector<Cells>>& cells) {
    const auto size = [&](const Cells& own) { return count_padding ? own.padded : own.last - own.first; };
    double lines = 1;
    for (std::size_t d = 0; d < index.size(); ++d)
      lines *= static_cast<double>(size(cells[d][static_cast<std::size_t>(index[d])]));
    const auto& last = cells.back();
    for (std::size_t i = 0; i < last.size(); ++i) {
      const double divisor = lines * static_cast<double>(size(last[i]));
      out[i] = divisor == 0 ? T(0) : out[i] / static_cast<T>(divisor);
    }
  };
  pool(
      g, x, y, T(0), threads, [](T a, T b) { return a + b; }, divide);
}

template void max_pool(const PoolGeometry&, const float*, float*, unsigned);
template void max_pool(const PoolGeometry&, const double*, double*, unsigned);
template void average_pool(const PoolGeometry&, bool, const float*, float*, unsigned);
template void average_pool(const PoolGeometry&, bool, const double*, double*, unsigned);

}  // namespace taso::runtime::kernels
