// Every fast kernel agrees with the operator's own definition, and gives the same bytes for any number of threads.
#include <cmath>
#include <functional>
#include <random>

#include "runtime/host/interpreter.h"
#include "tests/catch.h"

namespace taso::test {

using namespace runtime;

namespace {

using std::int64_t;

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool once_in(int64_t n) { return pick(1, n) == 1; }
  /// Mostly small, often 1, sometimes 0.
  int64_t extent(int64_t high = 9) { return once_in(40) ? 0 : once_in(4) ? 1 : pick(1, high); }
  Extents extents(std::size_t rank, int64_t high = 9) {
    Extents result;
    for (std::size_t i = 0; i < rank; ++i) result.push_back(extent(high));
    return result;
  }
  Array array(ElementType type, const Extents& extents, double low = -2, double high = 2) {
    Array wide(ElementType::float64, extents);
    std::uniform_real_distribution<double> uniform(low, high);
    const double scale = is_floating(type) ? 1 : 40;
    for (double& value : wide.mutable_values<double>()) value = uniform(random_) * scale;
    return wide.cast(type);
  }
  ElementType floating() {
    constexpr ElementType types[] = {ElementType::float32, ElementType::float32, ElementType::float32,
                                     ElementType::float64, ElementType::float16, ElementType::bfloat16};
    return types[pick(0, 5)];
  }
  ElementType any() {
    return once_in(2) ? floating()
                      : static_cast<ElementType>(
                            pick(static_cast<int64_t>(ElementType::int8), static_cast<int64_t>(ElementType::boolean)));
  }

 private:
  std::mt19937_64 random_;
};

double tolerance_of(ElementType type) {
  switch (type) {
    case ElementType::float64: return 1e-12;
    case ElementType::float32: return 2e-5;
    case ElementType::float16: return 2e-3;
    case ElementType::bfloat16: return 2e-2;
    default: return 0;
  }
}

std::string text_of_case(const Operator& op, std::span<const Array> inputs) {
  std::string text(name_of(op));
  for (const Array& input : inputs) text += " " + std::string(name_of(input.type())) + text_of(input.extents());
  return text;
}

bool close(const Array& a, const Array& b) {
  if (a.type() != b.type() || a.extents() != b.extents()) return false;
  const double tolerance = tolerance_of(a.type());
  const auto x = a.doubles(), y = b.doubles();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!(std::abs(x[i] - y[i]) <= tolerance * (1 + std::abs(y[i])))) return false;
  }
  return true;
}

InterpreterOptions with_threads(unsigned threads, bool plain = false) {
  InterpreterOptions options;
  options.threads = threads;
  options.plain = plain;
  return options;
}

/// Returns whether the operands fit; if they do not, both must refuse them.
bool agree(const Operator& op, const std::vector<Array>& inputs) {
  std::vector<Array> expected;
  try {
    expected = runtime::evaluate(op, inputs, with_threads(1, true));
  } catch (const ShapeError&) {
    CHECK_THROWS_AS(runtime::evaluate(op, inputs, with_threads(1)), ShapeError);
    return false;
  }
  const auto one = runtime::evaluate(op, inputs, with_threads(1)),
             four = runtime::evaluate(op, inputs, with_threads(4));
  bool right = one.size() == expected.size() && four.size() == expected.size();
  for (std::size_t i = 0; right && i < expected.size(); ++i)
    right = close(one[i], expected[i]) && identical(one[i], four[i]);
  if (!right) FAIL_CHECK(text_of_case(op, inputs));
  return true;
}

/// Runs `number` random cases, most of which must have operands that fit.
void try_cases(std::uint64_t seed, int number, const std::function<bool(Cases&)>& body) {
  Cases cases(seed);
  int valid = 0;
  for (int i = 0; i < number; ++i) valid += body(cases);
  CHECK(valid > number / 2);
}

op::Conv random_conv(Cases& c, std::size_t spatial) {
  op::Conv conv;
  for (std::size_t d = 0; d < spatial; ++d) {
    conv.strides.push_back(c.pick(1, 3));
    conv.dilations.push_back(c.once_in(3) ? c.pick(1, 3) : 1);
  }
  for (std::size_t d = 0; d < 2 * spatial; ++d) conv.pads.push_back(c.pick(0, 3));
  return conv;
}

template <class Pool>
Pool random_pool(Cases& c, std::size_t spatial) {
  Pool pool;
  for (std::size_t d = 0; d < spatial; ++d) {
    pool.kernel.push_back(c.pick(1, 4));
    pool.strides.push_back(c.pick(1, 3));
    pool.dilations.push_back(c.once_in(3) ? c.pick(1, 3) : 1);
  }
  for (std::size_t d = 0; d < 2 * spatial; ++d) pool.pads.push_back(c.pick(0, pool.kernel[d % spatial] - 1));
  pool.ceil = c.once_in(2);
  return pool;
}

template <class Op>
Op reduction(std::vector<int64_t> axes, bool keep) {
  Op op;
  op.axes = std::move(axes);
  op.keep = keep;
  return op;
}

TEST_CASE("convolutions", "[kernels]") {
  try_cases(1, 600, [](Cases& c) {
    const auto spatial = static_cast<std::size_t>(c.pick(1, 3));
    op::Conv conv = random_conv(c, spatial);
    if (c.once_in(4)) {  // needs no unrolling
      conv.strides.assign(spatial, 1);
      conv.pads.assign(2 * spatial, 0);
    }
    conv.groups = c.once_in(2) ? 1 : c.pick(1, 4);
    const bool depthwise = c.once_in(4);
    const int64_t in = depthwise ? 1 : c.pick(1, 4), out = depthwise ? 1 : c.pick(1, 4);
    Extents x{c.pick(1, 2), in * conv.groups}, w{out * conv.groups, in};
    for (std::size_t d = 0; d < spatial; ++d) {
      x.push_back(c.extent(spatial == 3 ? 6 : 12));
      w.push_back(c.once_in(3) ? 1 : c.pick(1, 4));
    }
    const ElementType type = c.floating();
    std::vector<Array> operands{c.array(type, x), c.array(type, w)};
    if (c.once_in(2)) operands.push_back(c.array(type, {w[0]}));
    return agree(conv, operands);
  });
}

TEST_CASE("transposed convolutions", "[kernels][threads]") {
  try_cases(3, 400, [](Cases& c) {
    const auto spatial = static_cast<std::size_t>(c.pick(1, 3));
    const op::Conv windows = random_conv(c, spatial);
    op::ConvTranspose conv{windows.strides, windows.dilations, windows.pads, {}, c.once_in(2) ? 1 : c.pick(1, 4)};
    for (std::size_t d = 0; d < spatial; ++d) conv.output_padding.push_back(c.once_in(2) ? 0 : c.pick(0, 3));
    const int64_t out = c.once_in(4) ? c.pick(20, 70) : c.pick(1, 4);  // several tasks for each image
    Extents x{c.pick(1, 2), c.pick(1, 4) * conv.groups}, w{x[1], out};
    for (std::size_t d = 0; d < spatial; ++d) {
      x.push_back(c.extent(spatial == 3 ? 4 : 8));
      w.push_back(c.once_in(3) ? 1 : c.pick(1, 4));
    }
    const ElementType type = c.floating();
    std::vector<Array> operands{c.array(type, x), c.array(type, w)};
    if (c.once_in(2)) operands.push_back(c.array(type, {out * conv.groups}));
    return agree(conv, operands);
  });
}

TEST_CASE("depthwise kernels of three by three", "[kernels][threads]") {
  try_cases(2, 200, [](Cases& c) {
    op::Conv conv = random_conv(c, 2);
    conv.strides.assign(2, c.pick(1, 2));
    conv.dilations.assign(2, 1);
    conv.groups = c.pick(1, 40);
    const ElementType type = c.floating();
    return agree(conv, {c.array(type, {c.pick(1, 2), conv.groups, c.pick(3, 20), c.pick(3, 20)}),
                        c.array(type, {conv.groups, 1, 3, 3}), c.array(type, {conv.groups})});
  });
}

TEST_CASE("convolutions that are cut into blocks", "[kernels][threads]") {
  Cases c(3);
  struct Size {
    int64_t in, out, kernel, area, groups;
  };
  for (const Size& s : {Size{64, 200, 1, 40, 1}, Size{64, 256, 3, 8, 1}, Size{16, 40, 3, 40, 1}, Size{4, 4, 3, 30, 16},
                        Size{300, 100, 3, 5, 1}, Size{48, 400, 1, 20, 2}}) {
    op::Conv conv;
    conv.strides = {1, 1};
    conv.dilations = {1, 1};
    conv.pads = {s.kernel / 2, 0, 0, s.kernel / 2};
    conv.groups = s.groups;
    for (const int64_t stride : {1, 2}) {
      conv.strides = {stride, stride};
      CHECK(agree(conv, {c.array(ElementType::float32, {2, s.in * s.groups, s.area, s.area}),
                         c.array(ElementType::float32, {s.out * s.groups, s.in, s.kernel, s.kernel}, -0.2, 0.2),
                         c.array(ElementType::float32, {s.out * s.groups})}));
    }
  }
}

TEST_CASE("windows that mostly see padding", "[kernels]") {
  Cases c(4);
  const auto conv = [](int64_t dilation, int64_t pad) {
    op::Conv result;
    result.strides = {1, 7};
    result.dilations = {dilation, dilation};
    result.pads = {pad, pad, pad, pad};
    return result;
  };
  const Array x = c.array(ElementType::float32, {1, 1, 3, 3}), w = c.array(ElementType::float32, {1, 1, 2, 2});
  CHECK(agree(conv(1, 40), {x, w}));
  CHECK(agree(conv(100'000, 50'000), {x, w}));
  op::MaxPool pool;
  pool.kernel = {2'000'000};
  pool.strides = {1};
  pool.dilations = {1};
  pool.pads = {1'999'999, 10};
  pool.strides = {1'000'000};
  CHECK(agree(pool, {c.array(ElementType::float32, {1, 1, 8})}));
}

TEST_CASE("matrix products", "[kernels][threads]") {
  try_cases(5, 600, [](Cases& c) {
    const ElementType type = c.floating();
    const Extents stack = c.extents(static_cast<std::size_t>(c.pick(0, 3)), 4);
    const int64_t rows = c.extent(20), depth = c.extent(20), columns = c.extent(20);
    const auto operand = [&](int64_t height, int64_t width) {
      const auto dropped = static_cast<std::ptrdiff_t>(c.pick(0, static_cast<int64_t>(stack.size())));
      Extents extents(stack.begin() + dropped, stack.end());
      for (int64_t& extent : extents)
        if (c.once_in(4)) extent = 1;
      extents.push_back(height);
      extents.push_back(width);
      return c.array(type, extents);
    };
    return agree(op::MatMul{}, {operand(rows, depth), operand(depth, columns)});
  });
  Cases c(6);
  for (const Extents& e : {Extents{300, 250, 200}, Extents{1, 700, 900}, Extents{800, 900, 1}, Extents{20, 30, 20'000}})
    CHECK(agree(op::MatMul{}, {c.array(ElementType::float32, {e[0], e[1]}, -0.2, 0.2),
                               c.array(ElementType::float32, {e[1], e[2]}, -0.2, 0.2)}));
}

TEST_CASE("fast pooling", "[kernels][threads]") {
  try_cases(7, 600, [](Cases& c) {
    const auto spatial = static_cast<std::size_t>(c.pick(1, 3));
    Extents x{c.pick(1, 2), c.extent(5)};
    for (std::size_t d = 0; d < spatial; ++d) x.push_back(c.pick(1, 12));
    const Array array = c.array(c.floating(), x);
    if (c.once_in(2)) return agree(random_pool<op::MaxPool>(c, spatial), {array});
    auto pool = random_pool<op::AveragePool>(c, spatial);
    pool.count_padding = c.once_in(2);
    return agree(pool, {array});
  });
}

TEST_CASE("element-wise operators, with every kind of broadcasting", "[kernels]") {
  std::vector<Operator> unary, binary;
  for (const Operator& op : all_operators())
    std::visit(
        [&](const auto& o) {
          if constexpr (requires(float x) { o.template apply<float>(x); }) unary.emplace_back(o);
          if constexpr (requires(float x) { o.template apply<float>(x, x); }) binary.emplace_back(o);
        },
        op);
  REQUIRE(unary.size() >= 9);
  REQUIRE(binary.size() >= 7);
  try_cases(8, 1500, [&](Cases& c) {
    const ElementType type = c.any();
    const bool one = c.once_in(3);
    const auto& ops = one ? unary : binary;
    Operator op = ops[static_cast<std::size_t>(c.pick(0, static_cast<int64_t>(ops.size()) - 1))];
    if (auto* clip = std::get_if<op::Clip>(&op)) {
      if (c.once_in(2)) clip->low = -1;
      if (c.once_in(2)) clip->high = 1;
    }
    if (auto* gelu = std::get_if<op::Gelu>(&op)) gelu->tanh = c.once_in(2);
    const Extents shape = c.extents(static_cast<std::size_t>(c.pick(0, 5)), 6);
    // Powers and roots of negative numbers are NaN on both sides, so mostly positive numbers test more.
    const double low = c.once_in(4) ? -2 : 0.1;
    if (one) return agree(op, {c.array(type, shape, low)});
    const auto operand = [&] {
      const auto dropped =
          static_cast<std::ptrdiff_t>(c.once_in(3) ? c.pick(0, static_cast<int64_t>(shape.size())) : 0);
      Extents extents(shape.begin() + dropped, shape.end());
      const bool repeats = c.once_in(2);
      for (int64_t& extent : extents)
        if (repeats && c.once_in(2)) extent = 1;
      return c.array(type, extents, low);
    };
    const Array a = operand(), b = std::holds_alternative<op::ScalarMul>(op) ? c.array(type, {}) : operand();
    return agree(op, {a, b});
  });
  Cases c(9);
  for (const Extents& e : {Extents{3, 50, 900}, Extents{1, 50, 1}, Extents{900}, Extents{3, 1, 900}, Extents{1}})
    CHECK(agree(op::Sub{}, {c.array(ElementType::float32, {3, 50, 900}), c.array(ElementType::float32, e)}));
}

TEST_CASE("operators that only move elements", "[kernels][threads]") {
  try_cases(10, 1500, [](Cases& c) {
    const ElementType type = c.any();
    const auto rank = static_cast<std::size_t>(c.pick(1, 5));
    const Extents shape = c.extents(rank, 6);
    const auto axis = c.pick(0, static_cast<int64_t>(rank) - 1);
    const int64_t length = shape[static_cast<std::size_t>(axis)];
    const Array x = c.array(type, shape);
    std::vector<int64_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      order[i] = static_cast<int64_t>(i);
      std::swap(order[i], order[static_cast<std::size_t>(c.pick(0, static_cast<int64_t>(i)))]);
    }
    switch (c.pick(0, 5)) {
      case 0: return agree(op::Transpose{order}, {x});
      case 1: {
        Extents other = shape;
        other[static_cast<std::size_t>(axis)] = c.extent();
        return agree(op::Concat{axis}, {x, c.array(type, other)});
      }
      case 2: return agree(op::Split{axis, Dim(c.pick(0, length))}, {x});
      case 3: {
        const int64_t begin = c.pick(0, length);
        return agree(op::Slice{axis, Dim(begin), Dim(c.pick(begin, length))}, {x});
      }
      case 4: return agree(op::Reshape{{Dim(x.size()), Dim(1)}}, {x});
      default: {
        op::Pad pad;
        for (std::size_t i = 0; i < rank; ++i) {
          pad.before.push_back(c.pick(0, 2));
          pad.after.push_back(c.pick(0, 2));
        }
        pad.value = static_cast<double>(c.pick(-3, 3)) / 2;
        return agree(pad, {x});
      }
    }
  });
  Cases c(11);
  for (const ElementType type : {ElementType::int8, ElementType::int16, ElementType::float32, ElementType::int64}) {
    CHECK(agree(op::Transpose{{1, 0}}, {c.array(type, {700, 300})}));
    CHECK(agree(op::Transpose{{2, 0, 1}}, {c.array(type, {90, 20, 110})}));
    CHECK(agree(op::Transpose{{0, 2, 1, 3}}, {c.array(type, {2, 60, 50, 33})}));
    CHECK(agree(op::Concat{1}, {c.array(type, {60, 50, 33}), c.array(type, {60, 7, 33})}));
    CHECK(agree(op::Enlarge{{4, 7}}, {c.array(type, {20, 30, 3, 3})}));
  }
}

TEST_CASE("reductions and normalisations", "[kernels][threads]") {
  try_cases(12, 1000, [](Cases& c) {
    const ElementType type = c.floating();
    const auto rank = static_cast<std::size_t>(c.pick(1, 4));
    const Extents shape = c.extents(rank, c.once_in(5) ? 40 : 8);
    const Array x = c.array(type, shape);
    const auto axis = c.pick(0, static_cast<int64_t>(rank) - 1);
    std::vector<int64_t> axes;
    for (std::size_t i = 0; i < rank; ++i)
      if (c.once_in(2))
        axes.insert(axes.begin() + (c.once_in(2) ? 0 : static_cast<std::ptrdiff_t>(axes.size())),
                    static_cast<int64_t>(i));
    const bool keep = c.once_in(2);
    switch (c.pick(0, 6)) {
      case 0: return agree(reduction<op::ReduceSum>(axes, keep), {x});
      case 1: return agree(reduction<op::ReduceMean>(axes, keep), {x});
      case 2: return agree(reduction<op::ReduceMax>(axes, keep), {x});
      case 3: return agree(op::Softmax{axis}, {x});
      case 4: {
        std::vector<Array> operands{x};
        const bool row = c.once_in(2);
        for (int64_t i = c.pick(1, 2); i > 0; --i) {
          Extents extents(shape.begin() + (row ? axis : 0), shape.end());
          for (int64_t& extent : extents)
            if (!row && c.once_in(2)) extent = 1;
          operands.push_back(c.array(type, extents));
        }
        return agree(op::LayerNorm{axis, 1e-2}, operands);
      }
      case 5:
        return agree(op::GlobalAveragePool{}, {c.array(type, c.extents(static_cast<std::size_t>(c.pick(3, 5)), 6))});
      default: {
        const Extents wide = c.extents(static_cast<std::size_t>(c.pick(2, 4)), 8), channels{wide[1]};
        return agree(op::BatchNorm{1e-3}, {c.array(type, wide), c.array(type, channels), c.array(type, channels),
                                           c.array(type, channels), c.array(type, channels, 0.1, 2)});
      }
    }
  });
  Cases c(13);
  const Array large = c.array(ElementType::float32, {7, 300, 120});
  for (const int64_t axis : {0, 1, 2}) {
    CHECK(agree(op::Softmax{axis}, {large}));
    CHECK(agree(reduction<op::ReduceMean>({axis}, true), {large}));
    CHECK(agree(reduction<op::ReduceMax>({axis}, false), {large}));
  }
  CHECK(agree(reduction<op::ReduceMean>({0, 2}, true), {large}));
}

TEST_CASE("results overwrite dead operands only", "[kernels]") {
  class Held : public Weight {
   public:
    explicit Held(Array data) : data_(std::move(data)) {}
    Array load() const override { return data_; }

   private:
    Array data_;
  };
  // A view without other owners, like a mapped file, which must not be overwritten.
  class Mapped : public Weight {
   public:
    explicit Mapped(std::shared_ptr<std::vector<float>> data) : data_(std::move(data)) {}
    Array load() const override {
      return Array::view(ElementType::float32, {6}, reinterpret_cast<const std::byte*>(data_->data()),
                         std::make_shared<int>(0));
    }

   private:
    std::shared_ptr<std::vector<float>> data_;
  };
  const std::vector<float> values{1, -2, 3, -4, 5, -6};
  const Array x = Array::of<float>({6}, values), held = Array::of<float>({6}, values);
  const auto mapped = std::make_shared<std::vector<float>>(values);
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const Type type{ElementType::float32, Shape{6}};
  graph.inputs = {pool.input("x", type)};
  const Value a = pool.constant("a", type, std::make_shared<Held>(held));
  const Value b = pool.constant("b", type, std::make_shared<Mapped>(mapped));
  const Value flat = pool.apply(op::Reshape{{Dim(2), Dim(3)}}, {b});
  const Value sum = pool.apply(op::Add{}, {pool.apply(op::Relu{}, {graph.inputs[0]}), pool.apply(op::Relu{}, {a})});
  const Value twice = pool.apply(op::Add{}, {sum, sum});
  graph.outputs = {sum, pool.apply(op::Relu{}, {flat}), twice, pool.apply(op::Relu{}, {twice})};
  const std::vector<Array> inputs{x};
  const auto fast = interpret(graph, inputs, with_threads(2)), plain = interpret(graph, inputs, with_threads(1, true));
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(identical(fast[i], plain[i]));
  CHECK(x.doubles() == Array::of<float>({6}, values).doubles());
  CHECK(held.doubles() == x.doubles());
  CHECK(*mapped == values);
}

TEST_CASE("a NaN stays a NaN", "[kernels]") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Array x =
      Array::of<float>({2, 10}, {nan, 1, inf, -inf, 0, -0.0F, nan, 2, 3, 4, 1, nan, 1, 1, -inf, inf, 5, 6, 7, 8});
  for (const Operator& op : all_operators())
    std::visit(
        [&](const auto& o) {
          if constexpr (requires(float v) { o.template apply<float>(v); }) CHECK(agree(o, {x}));
          if constexpr (requires(float v) { o.template apply<float>(v, v); }) {
            const Array other = Array::of<float>({10}, {1, nan, inf, inf, nan, 0, -inf, 2, -3, 0.5F});
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(o)>, op::ScalarMul>) CHECK(agree(o, {x, other}));
          }
        },
        op);
  CHECK(agree(reduction<op::ReduceMax>({1}, true), {x}));
  CHECK(agree(op::Softmax{1}, {x}));
  CHECK(agree(reduction<op::ReduceSum>({0}, true), {x}));
}

TEST_CASE("exp, tanh and erf are within four units in the last place", "[kernels]") {
  std::vector<float> points;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4001) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x)) points.push_back(x);
  }
  const std::vector<Array> in{Array::of<float>({static_cast<int64_t>(points.size())}, points)};
  const auto worst = [&](const Operator& op, double (*truth)(double)) {
    const auto results = runtime::evaluate(op, in);
    const auto values = results[0].values<float>();
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = truth(points[i]);
      const auto rounded = static_cast<float>(expected);
      if (values[i] == rounded) continue;
      const double unit = std::abs(static_cast<double>(std::nextafter(rounded, 0.0F)) - rounded);
      most = std::max(most, std::abs(values[i] - expected) / (unit > 0 ? unit : 1e-45));
    }
    return most;
  };
  CHECK(worst(op::Exp{}, [](double x) { return std::exp(x); }) < 4);
  CHECK(worst(op::Tanh{}, [](double x) { return std::tanh(x); }) < 4);
  CHECK(worst(op::Erf{}, [](double x) { return std::erf(x); }) < 4);
}

}  // namespace

}  // namespace taso::test
