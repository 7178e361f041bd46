#include "runtime/host/kernels/fast.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/host/kernels/conv.h"
#include "runtime/host/kernels/elementwise.h"
#include "runtime/host/kernels/fast_geometry.h"
#include "runtime/host/kernels/gemm.h"
#include "runtime/host/kernels/matmul.h"
#include "runtime/host/kernels/pooling.h"
#include "runtime/host/kernels/quick.h"
#include "runtime/host/kernels/reduce.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;
using Results = std::optional<std::vector<Array>>;

struct Operands {
  std::vector<Array>& in;
  const std::vector<Extents>& shapes;
  unsigned threads;

  template <class T>
  const T* data(std::size_t i) const {
    return i < in.size() ? in[i].values<T>().data() : nullptr;
  }
  /// An operand with the shape of the result that may be overwritten, or else a new array.
  Array result(std::initializer_list<std::size_t> candidates) const {
    for (const std::size_t i : candidates)
      if (in[i].writable() && in[i].extents() == shapes[0]) return std::move(in[i]);
    return Array(in[0].type(), shapes[0]);
  }
  Array result() const { return Array(in[0].type(), shapes[0]); }
};

Results one(Array array) {
  std::vector<Array> results;
  results.push_back(std::move(array));
  return results;
}

/// The scalar type for evaluating an operator's own definition element by element.
template <class T>
using Quickest = std::conditional_t<std::is_same_v<T, float>, Quick, T>;

template <class T>
T unwrap(T value) {
  return value;
}
inline float unwrap(Quick value) { return value.value; }

template <class T, class Op>
Results unary(const Op& op, const Operands& operands) {
  using S = Quickest<T>;
  const T* x = operands.data<T>(0);
  Array out = operands.result({0});
  map(out.size(), x, out.mutable_values<T>().data(), operands.threads,
      [op](T value) { return unwrap(op.template apply<S>(S{value})); });
  return one(std::move(out));
}

template <class T, class Op>
Results binary(const Op& op, const Operands& operands) {
  using S = Quickest<T>;
  const T *a = operands.data<T>(0), *b = operands.data<T>(1);
  const BroadcastPlan plan = plan_broadcast(operands.in[0].extents(), operands.in[1].extents(), operands.shapes[0]);
  Array out = operands.result({0, 1});
  if (out.size() > 0)
    zip(plan, a, b, out.mutable_values<T>().data(), operands.threads,
        [op](T x, T y) { return unwrap(op.template apply<S>(S{x}, S{y})); });
  return one(std::move(out));
}

Extents from(const Extents& extents, std::size_t first) {
  return Extents(extents.begin() + static_cast<std::ptrdiff_t>(first), extents.end());
}

/// BLAS uses int for sizes.
bool countable(std::initializer_list<int64_t> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n <= std::numeric_limits<int>::max(); });
}

/// All but the number of channels.
template <class Op>
ConvGeometry conv_geometry(const Op& op, const Operands& operands) {
  ConvGeometry g;
  g.batch = operands.shapes[0][0];
  g.groups = op.groups;
  g.in = from(operands.in[0].extents(), 2);
  g.kernel = from(operands.in[1].extents(), 2);
  g.out = from(operands.shapes[0], 2);
  g.strides = op.strides;
  g.dilations = op.dilations;
  g.pads.assign(op.pads.begin(), op.pads.begin() + static_cast<std::ptrdiff_t>(g.in.size()));
  return g;
}

template <class T>
Results fast(const op::Conv& op, const Operands& operands) {
  const Extents &x = operands.in[0].extents(), &w = operands.in[1].extents();
  if (x.size() > max_spatial + 2 || count(x) == 0) return std::nullopt;
  ConvGeometry g = conv_geometry(op, operands);
  g.in_channels = w[1];
  g.out_channels = w[0] / op.groups;
  if (!countable({count(g.in), count(g.out), count(from(w, 1)), w[0]})) return std::nullopt;
  Array out = operands.result();
  convolve<T>(g, operands.data<T>(0), operands.data<T>(1), operands.data<T>(2), out.mutable_values<T>().data(),
              operands.threads);
  return one(std::move(out));
}

template <class T>
Results fast(const op::ConvTranspose& op, const Operands& operands) {
  const Extents &x = operands.in[0].extents(), &w = operands.in[1].extents();
  if (x.size() > max_spatial + 2 || count(x) == 0 || count(w) == 0) return std::nullopt;
  ConvGeometry g = conv_geometry(op, operands);
  g.in_channels = w[0] / op.groups;
  g.out_channels = w[1];
  if (!countable({count(g.in), count(g.out), count(from(w, 1)), w[0]})) return std::nullopt;
  // Their products are held in memory. The slow path skips those that pads cut off.
  if (static_cast<double>(count(g.in)) * static_cast<double>(count(g.kernel)) > 1e8) return std::nullopt;
  Array out = operands.result();
  convolve_transposed<T>(g, operands.data<T>(0), operands.data<T>(1), operands.data<T>(2),
                         out.mutable_values<T>().data(), operands.threads);
  return one(std::move(out));
}

template <class T>
Results fast(const op::MatMul&, const Operands& operands) {
  const Extents &a = operands.in[0].extents(), &b = operands.in[1].extents();
  const int64_t rows =
      std::accumulate(a.begin(), a.end() - 1, int64_t{1}, std::multiplies<>());  // batches may be merged
  if (!countable({rows, a.back(), b.back()})) return std::nullopt;
  Array out = operands.result();
  matmul(a, b, operands.shapes[0], operands.data<T>(0), operands.data<T>(1), out.mutable_values<T>().data(),
         operands.threads);
  return one(std::move(out));
}

template <class Op>
std::optional<PoolGeometry> pool_geometry(const Op& op, const Operands& operands) {
  const Extents& x = operands.in[0].extents();
  PoolGeometry g;
  g.planes = x[0] * x[1];
  g.in = from(x, 2);
  g.kernel = op.kernel;
  g.out = from(operands.shapes[0], 2);
  g.strides = op.strides;
  g.dilations = op.dilations;
  const auto middle = op.pads.begin() + static_cast<std::ptrdiff_t>(g.in.size());
  g.pads_before.assign(op.pads.begin(), middle);
  g.pads_behind.assign(middle, op.pads.end());
  double cells = 1;
  for (const int64_t size : g.kernel) cells *= static_cast<double>(size);
  if (cells > 1e6) return std::nullopt;  // mostly padding: the slow path skips it
  return g;
}

template <class T>
Results fast(const op::MaxPool& op, const Operands& operands) {
  const auto geometry = pool_geometry(op, operands);
  if (!geometry) return std::nullopt;
  Array out = operands.result();
  max_pool(*geometry, operands.data<T>(0), out.mutable_values<T>().data(), operands.threads);
  return one(std::move(out));
}

template <class T>
Results fast(const op::AveragePool& op, const Operands& operands) {
  const auto geometry = pool_geometry(op, operands);
  if (!geometry) return std::nullopt;
  Array out = operands.result();
  average_pool(*geometry, op.count_padding, operands.data<T>(0), out.mutable_values<T>().data(), operands.threads);
  return one(std::move(out));
}

Layers layers_at(const Extents& extents, std::size_t axis) {
  Layers layers;
  for (std::size_t i = 0; i < extents.size(); ++i)
    (i < axis ? layers.outer : i == axis ? layers.length : layers.inner) *= extents[i];
  return layers;
}

template <class T>
Results reduced(Reduce kind, std::vector<int64_t> axes, const Operands& operands) {
  const Extents& x = operands.in[0].extents();
  if (operands.in[0].size() == 0) return std::nullopt;
  std::sort(axes.begin(), axes.end());
  Array out = operands.result();
  T* to = out.mutable_values<T>().data();
  bool adjacent = true;
  for (std::size_t i = 1; i < axes.size(); ++i) adjacent &= axes[i] == axes[i - 1] + 1;
  if (adjacent) {
    Layers layers;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto axis = static_cast<int64_t>(i);
      const bool before = !axes.empty() && axis < axes.front(),
                 inside = !before && !axes.empty() && axis <= axes.back();
      (before ? layers.outer : inside ? layers.length : layers.inner) *= x[i];
    }
    reduce(kind, layers, operands.data<T>(0), to, operands.threads);
  } else {
    // Moves the reduced axes to the end.
    std::vector<int64_t> order;
    for (int64_t axis = 0; axis < static_cast<int64_t>(x.size()); ++axis)
      if (!std::binary_search(axes.begin(), axes.end(), axis)) order.push_back(axis);
    order.insert(order.end(), axes.begin(), axes.end());
    const Array moved = transposed(operands.in[0], order, operands.threads);
    reduce(kind, Layers{out.size(), moved.size() / out.size(), 1}, moved.values<T>().data(), to, operands.threads);
  }
  return one(std::move(out));
}

template <class T>
Results fast(const op::ReduceSum& op, const Operands& operands) {
  return reduced<T>(Reduce::sum, op.axes, operands);
}
template <class T>
Results fast(const op::ReduceMean& op, const Operands& operands) {
  return reduced<T>(Reduce::mean, op.axes, operands);
}
template <class T>
Results fast(const op::ReduceMax& op, const Operands& operands) {
  return reduced<T>(Reduce::maximum, op.axes, operands);
}
template <class T>
Results fast(const op::GlobalAveragePool&, const Operands& operands) {
  std::vector<int64_t> axes(operands.in[0].rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return reduced<T>(Reduce::mean, std::move(axes), operands);
}

template <class T>
Results fast(const op::Softmax& op, const Operands& operands) {
  const T* x = operands.data<T>(0);
  Array out = operands.result({0});
  softmax(layers_at(operands.shapes[0], static_cast<std::size_t>(op.axis)), x, out.mutable_values<T>().data(),
          operands.threads);
  return one(std::move(out));
}

template <class T>
Results fast(const op::LayerNorm& op, const Operands& operands) {
  const Extents& x = operands.shapes[0];
  const Layers layers = layers_at(x, static_cast<std::size_t>(op.axis));
  const int64_t length = layers.length * layers.inner;
  if (count(x) == 0) return std::nullopt;
  // Gain and bias are nearly always one row; other broadcasts are applied in separate steps.
  const auto is_row = [&](const Array& array) {
    return array.size() == length && array.rank() <= x.size() - static_cast<std::size_t>(op.axis);
  };
  const bool rows = std::all_of(operands.in.begin() + 1, operands.in.end(), is_row);
  const T *from = operands.data<T>(0), *gain = operands.data<T>(1), *bias = operands.data<T>(2);
  Array out = operands.result({0});
  T* to = out.mutable_values<T>().data();
  layer_norm<T>(layers.outer, length, static_cast<T>(op.epsilon), from, rows ? gain : nullptr, rows ? bias : nullptr,
                to, operands.threads);
  if (!rows) {
    zip(plan_broadcast(x, operands.in[1].extents(), x), to, gain, to, operands.threads, [](T a, T b) { return a * b; });
    if (bias != nullptr)
      zip(plan_broadcast(x, operands.in[2].extents(), x), to, bias, to, operands.threads,
          [](T a, T b) { return a + b; });
  }
  return one(std::move(out));
}

template <class T>
Results fast(const op::BatchNorm& op, const Operands& operands) {
  const Extents& x = operands.shapes[0];
  const T* from = operands.data<T>(0);
  const BatchNormOperands<T> others{operands.data<T>(1), operands.data<T>(2), operands.data<T>(3), operands.data<T>(4)};
  Array out = operands.result({0});
  batch_norm<T>(x[0], x[1], layers_at(x, 1).inner, static_cast<T>(op.epsilon), from, others,
                out.mutable_values<T>().data(), operands.threads);
  return one(std::move(out));
}

template <class T>
Results evaluate_numbers(const Operator& op, const Operands& operands) {
  using S = Quickest<T>;
  return std::visit(
      [&](const auto& o) -> Results {
        if constexpr (requires { fast<T>(o, operands); })
          return fast<T>(o, operands);
        else if constexpr (requires(S x) { o.template apply<S>(x); })
          return unary<T>(o, operands);
        else if constexpr (requires(S x) { o.template apply<S>(x, x); })
          return binary<T>(o, operands);
        else
          return std::nullopt;
      },
      op);
}

}  // namespace

std::optional<std::vector<Array>> evaluate_fast(const Operator& op, std::vector<Array>& inputs,
                                                const std::vector<Extents>& shapes, unsigned threads) {
  if (inputs.empty()) return std::nullopt;
  if (auto moved = evaluate_geometry(op, inputs, shapes, threads)) return moved;
  const SingleThreadedBlas guard;
  switch (inputs[0].type()) {
    case ElementType::float32: return evaluate_numbers<float>(op, {inputs, shapes, threads});
    case ElementType::float64: return evaluate_numbers<double>(op, {inputs, shapes, threads});
    case ElementType::float16:
    case ElementType::bfloat16: {
      // Half types are computed in float, and rounded once at the end.
      std::vector<Array> wide;
      for (const Array& input : inputs) wide.push_back(input.cast(ElementType::float32));
      auto results = evaluate_numbers<float>(op, {wide, shapes, threads});
      if (results)
        for (Array& result : *results) result = result.cast(inputs[0].type());
      return results;
    }
    default: return std::nullopt;
  }
}

}  // namespace taso::runtime::kernels
