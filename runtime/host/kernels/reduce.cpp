#include "runtime/host/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ops/support/threads.h"
#include "runtime/host/kernels/quick.h"
#include "runtime/host/kernels/scratch.h"
#include "runtime/host/kernels/vectorise.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

constexpr int64_t grain_elements = 1 << 15;
constexpr int64_t inner_block = 1 << 10;

int64_t rows_per_task(int64_t length) { return std::max<int64_t>(1, grain_elements / std::max<int64_t>(length, 1)); }

template <class T>
T larger(T a, T b) {
  return ((a > b) | (a != a)) ? a : b;
}

template <class T>
T exponential(T x) {
  if constexpr (std::is_same_v<T, float>)
    return Math<Quick>::exp({x}).value;
  else
    return std::exp(x);
}

/// Combines f(x[0]), f(x[1]), … in sixteen vector lanes, and the lanes at the end.
template <class T, class F, class Combine>
T fold(const T* x, int64_t count, T start, const F& f, const Combine& combine) {
  constexpr int64_t lanes = 16;
  T lane[lanes];
  std::fill_n(lane, lanes, start);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t j = 0; j < lanes; ++j) lane[j] = combine(lane[j], f(x[i + j]));
  for (int64_t j = 0; i < count; ++i, ++j) lane[j] = combine(lane[j], f(x[i]));
  for (int64_t width = lanes / 2; width > 0; width /= 2)
    for (int64_t j = 0; j < width; ++j) lane[j] = combine(lane[j], lane[j + width]);
  return lane[0];
}

template <class T>
T sum_of(const T* x, int64_t count) {
  return fold(
      x, count, T(0), [](T v) { return v; }, [](T a, T b) { return a + b; });
}

template <class T>
T maximum_of(const T* x, int64_t count) {
  return fold(
      x, count, Math<T>::lowest(), [](T v) { return v; }, larger<T>);
}

/// Calls `body` for blocks [begin, end) of the inner dimension at each outer index.
template <class F>
void for_each_column_block(const Layers& l, unsigned threads, const F& body) {
  const int64_t blocks = (l.inner + inner_block - 1) / inner_block;
  const int64_t grain = rows_per_task(std::min(l.inner, inner_block) * l.length);
  parallel_ranges(threads, l.outer * blocks, grain, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t begin = task % blocks * inner_block;
      body(task / blocks, begin, std::min(l.inner, begin + inner_block));
    }
  });
}

template <class T, class Combine>
void reduce_columns(const Layers& l, const T* x, T* y, T start, unsigned threads, const Combine& combine) {
  for_each_column_block(l, threads, [&](int64_t outer, int64_t begin, int64_t end) {
    T* out = y + outer * l.inner;
    std::fill(out + begin, out + end, start);
    for (int64_t k = 0; k < l.length; ++k) {
      const T* row = x + (outer * l.length + k) * l.inner;
      TASO_INDEPENDENT
      for (int64_t i = begin; i < end; ++i) out[i] = combine(out[i], row[i]);
    }
  });
}

template <class T>
void softmax_row(const T* x, int64_t length, T* y) {
  const T greatest = maximum_of(x, length);
  TASO_INDEPENDENT
  for (int64_t i = 0; i < length; ++i) y[i] = exponential<T>(x[i] - greatest);
  const T sum = sum_of(y, length);
  TASO_INDEPENDENT
  for (int64_t i = 0; i < length; ++i) y[i] = y[i] / sum;
}

}  // namespace

template <class T>
void reduce(Reduce kind, const Layers& l, const T* x, T* y, unsigned threads) {
  if (l.outer == 0 || l.inner == 0) return;
  if (l.inner == 1) {
    const auto divisor = static_cast<T>(l.length);
    parallel_ranges(threads, l.outer, rows_per_task(l.length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = x + row * l.length;
        const T value = kind == Reduce::maximum ? maximum_of(from, l.length) : sum_of(from, l.length);
        y[row] = kind == Reduce::mean ? value / divisor : value;
      }
    });
    return;
  }
  if (kind == Reduce::maximum)
    reduce_columns(l, x, y, Math<T>::lowest(), threads, larger<T>);
  else
    reduce_columns(l, x, y, T(0), threads, [](T a, T b) { return a + b; });
  if (kind == Reduce::mean)
    for (int64_t i = 0; i < l.outer * l.inner; ++i) y[i] = y[i] / static_cast<T>(l.length);
}

template <class T>
void softmax(const Layers& l, const T* x, T* y, unsigned threads) {
  if (l.outer == 0 || l.length == 0 || l.inner == 0) return;
  if (l.inner == 1) {
    parallel_ranges(threads, l.outer, rows_per_task(4 * l.length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) softmax_row(x + row * l.length, l.length, y + row * l.length);
    });
    return;
  }
  for_each_column_block(l, threads, [&](int64_t outer, int64_t begin, int64_t end) {
    const int64_t width = end - begin;
    T* greatest = scratch<T, 4>(static_cast<std::size_t>(2 * inner_block));
    T* sum = greatest + inner_block;
    std::fill_n(greatest, width, Math<T>::lowest());
    std::fill_n(sum, width, T(0));
    const T* from = x + outer * l.length * l.inner + begin;
    T* to = y + outer * l.length * l.inner + begin;
    for (int64_t k = 0; k < l.length; ++k)
      for (int64_t i = 0; i < width; ++i) greatest[i] = larger(greatest[i], from[k * l.inner + i]);
    for (int64_t k = 0; k < l.length; ++k) {
      TASO_INDEPENDENT
      for (int64_t i = 0; i < width; ++i) {
        const T power = exponential<T>(from[k * l.inner + i] - greatest[i]);
        to[k * l.inner + i] = power;
        sum[i] += power;
      }
    }
    for (int64_t k = 0; k < l.length; ++k) {
      TASO_INDEPENDENT
      for (int64_t i = 0; i < width; ++i) to[k * l.inner + i] = to[k * l.inner + i] / sum[i];
    }
  });
}

template <class T>
void layer_norm(int64_t rows, int64_t length, T epsilon, const T* x, const T* gain, const T* bias, T* y,
                unsigned threads) {
  parallel_ranges(threads, rows, rows_per_task(length), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x + row * length;
      T* to = y + row * length;
      const T mean = sum_of(from, length) / static_cast<T>(length);
      const T squares = fold(
          from, length, T(0), [&](T v) { return (v - mean) * (v - mean); }, [](T a, T b) { return a + b; });
      const T factor = T(1) / std::sqrt(squares / static_cast<T>(length) + epsilon);
      if (gain != nullptr && bias != nullptr) {
        TASO_INDEPENDENT
        for (int64_t i = 0; i < length; ++i) to[i] = (from[i] - mean) * factor * gain[i] + bias[i];
      } else if (gain != nullptr) {
        TASO_INDEPENDENT
        for (int64_t i = 0; i < length; ++i) to[i] = (from[i] - mean) * factor * gain[i];
      } else {
        TASO_INDEPENDENT
        for (int64_t i = 0; i < length; ++i) to[i] = (from[i] - mean) * factor;
      }
    }
  });
}

template <class T>
void batch_norm(int64_t batch, int64_t channels, int64_t size, T epsilon, const T* x,
                const BatchNormOperands<T>& operands, T* y, unsigned threads) {
  parallel_ranges(threads, batch * channels, rows_per_task(size), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels;
      const T mean = operands.mean[c], bias = operands.bias[c];
      const T factor = operands.scale[c] / std::sqrt(operands.variance[c] + epsilon);
      const T* from = x + plane * size;
      T* to = y + plane * size;
      TASO_INDEPENDENT
      for (int64_t i = 0; i < size; ++i) to[i] = (from[i] - mean) * factor + bias;
    }
  });
}

#define TASO_INSTANTIATE(T)                                                                  \
  template void reduce(Reduce, const Layers&, const T*, T*, unsigned);                       \
  template void softmax(const Layers&, const T*, T*, unsigned);                              \
  template void layer_norm(int64_t, int64_t, T, const T*, const T*, const T*, T*, unsigned); \
  template void batch_norm(int64_t, int64_t, int64_t, T, const T*, const BatchNormOperands<T>&, T*, unsigned);
TASO_INSTANTIATE(float)
TASO_INSTANTIATE(double)
#undef TASO_INSTANTIATE

}  // namespace taso::runtime::kernels
