// Every operator against values computed by hand.
#include <cmath>
#include <limits>

#include "ops/core/field.h"
#include "ops/graph/operator.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

using T = ops::Tensor<double>;
using Values = std::vector<double>;

Values run(const Operator& op, const std::vector<T>& operands, std::size_t output = 0) {
  return evaluate<double>(op, operands)[output].data;
}

void near(const Values& values, const Values& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(1e-9));
}

T counting(Extents extents, double first = 1) {
  T x(std::move(extents), 0.0);
  for (double& value : x.data) value = first++;
  return x;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("binary operators broadcast") {
  const T a({2, 2}, Values{1, 2, 3, 4}), b({2}, Values{10, 20}), c({2, 1}, Values{2, 3});
  CHECK(run(op::Add{}, {a, b}) == Values{11, 22, 13, 24});
  CHECK(run(op::Sub{}, {b, a}) == Values{9, 18, 7, 16});
  CHECK(run(op::Mul{}, {a, c}) == Values{2, 4, 9, 12});
  CHECK(run(op::Div{}, {a, c}) == Values{0.5, 1, 1, 4.0 / 3});
  CHECK(run(op::ScalarMul{}, {a, T({1, 1}, Values{3})}) == Values{3, 6, 9, 12});
  CHECK(run(op::Max{}, {a, c}) == Values{2, 2, 3, 4});
  CHECK(run(op::Min{}, {a, c}) == Values{1, 2, 3, 3});
  CHECK(run(op::Pow{}, {a, c}) == Values{1, 4, 27, 64});
  CHECK(run(op::Add{}, {T({0, 2}, Values{}), b}).empty());
}

TEST_CASE("integers divide towards zero and never trap") {
  using W = Wrapped<std::int64_t>;
  const ops::Tensor<W> a({4}, std::vector{W(-7), W(7), W(1), W(std::numeric_limits<std::int64_t>::min())});
  const ops::Tensor<W> b({4}, std::vector{W(2), W(-2), W(0), W(-1)});
  const std::vector<ops::Tensor<W>> operands{a, b};
  const auto quotient = evaluate<W>(op::Div{}, operands)[0].data;
  CHECK(quotient == std::vector{W(-3), W(-3), W(0), W(std::numeric_limits<std::int64_t>::min())});
}

TEST_CASE("unary operators") {
  const T x({4}, Values{-2, -0.5, 0, 3});
  CHECK(run(op::Sqrt{}, {T({3}, Values{0, 4, 2.25})}) == Values{0, 2, 1.5});
  near(run(op::Exp{}, {x}), {0.1353352832366127, 0.6065306597126334, 1, 20.085536923187668});
  near(run(op::Erf{}, {x}), {-0.9953222650189527, -0.5204998778130465, 0, 0.9999779095030014});
  near(run(op::Tanh{}, {x}), {-0.9640275800758169, -0.46211715726000973, 0, 0.9950547536867305});
  near(run(op::Sigmoid{}, {x}), {0.11920292202211755, 0.3775406687981454, 0.5, 0.9525741268224334});
  CHECK(run(op::Relu{}, {x}) == Values{0, 0, 0, 3});
  CHECK(run(op::LeakyRelu{.alpha = 0.5}, {x}) == Values{-1, -0.25, 0, 3});
  CHECK(run(op::Clip{.low = -1, .high = 1}, {x}) == Values{-1, -0.5, 0, 1});
  CHECK(run(op::Clip{.high = 1}, {x}) == Values{-2, -0.5, 0, 1});
  CHECK(run(op::Clip{.low = 2, .high = 1}, {x}) == Values{1, 1, 1, 1});
  near(run(op::Gelu{}, {x}), {-0.04550026389635842, -0.15426876936299344, 0, 2.99595030590511});
  near(run(op::Gelu{.tanh = true}, {x}), {-0.04540230591222498, -0.15428599017485633, 0, 2.9963626077965385});
  near(run(op::HardSwish{}, {T({4}, Values{-4, -1, 1, 4})}), {0, -1.0 / 3, 2.0 / 3, 4});
  near(run(op::Silu{}, {T({3}, Values{-1, 0, 1})}), {-0.2689414213699951, 0, 0.7310585786300049});
  near(run(op::Reciprocal{}, {T({3}, Values{-2, 0.5, 4})}), {-0.5, 2, 0.25});
  near(run(op::Neg{}, {T({3}, Values{-2, 0, 4})}), {2, 0, -4});
}

TEST_CASE("NaN is passed on, and negative zero becomes zero") {
  const T x({2}, Values{not_a_number, -0.0});
  const Values relu = run(op::Relu{}, {x});
  CHECK(std::isnan(relu[0]));
  CHECK_FALSE(std::signbit(relu[1]));
  for (const Operator& op :
       {Operator(op::Clip{.low = 0, .high = 1}), Operator(op::LeakyRelu{}), Operator(op::Sigmoid{})})
    CHECK(std::isnan(run(op, {x})[0]));
  const T one({2}, Values{1, 1});
  CHECK(std::isnan(run(op::Max{}, {x, one})[0]));
  CHECK(std::isnan(run(op::Max{}, {one, x})[0]));
  CHECK(std::isnan(run(op::Min{}, {one, x})[0]));
  CHECK(std::isnan(run(op::ReduceMax{.axes = {0}}, {x})[0]));
  const T large({2}, Values{-infinity, 1000});
  CHECK(run(op::Sigmoid{}, {large}) == Values{0, 1});
  CHECK(run(op::LeakyRelu{}, {large}) == Values{-infinity, 1000});
}

TEST_CASE("matmul multiplies stacks of matrices") {
  CHECK(run(op::MatMul{}, {counting({2, 3}), counting({3, 2})}) == Values{22, 28, 49, 64});
  // One left matrix, a stack of two on the right.
  CHECK(run(op::MatMul{}, {counting({1, 2}), counting({2, 2, 1})}) == Values{5, 11});
  CHECK(run(op::MatMul{}, {counting({2, 1, 1, 2}), counting({2, 2, 1})}) == Values{5, 11, 11, 25});
  CHECK(run(op::MatMul{}, {T({1, 0}, Values{}), T({0, 2}, Values{})}) == Values{0, 0});
}

TEST_CASE("convolution") {
  const op::Conv plain{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  CHECK(run(plain, {counting({1, 1, 3, 3}), T({1, 1, 2, 2}, 1.0)}) == Values{12, 16, 24, 28});
  const op::Conv same{.strides = {1}, .dilations = {1}, .pads = {1, 1}};
  // Not flipped: the first cell of the kernel meets the left neighbour.
  CHECK(run(same, {counting({1, 1, 3}), T({1, 1, 3}, Values{100, 10, 1})}) == Values{12, 123, 230});
  CHECK(run(same, {counting({1, 1, 3}), T({2, 1, 3}, Values{0, 1, 0, 1, 0, 0}), T({2}, Values{5, 7})}) ==
        Values{6, 7, 8, 7, 8, 9});
  const op::Conv depthwise{.strides = {1}, .dilations = {1}, .pads = {0, 0}, .groups = 2};
  CHECK(run(depthwise, {counting({1, 2, 2}), T({2, 1, 1}, Values{2, 3})}) == Values{2, 4, 9, 12});
}

TEST_CASE("transposed convolution") {
  const op::ConvTranspose plain{.strides = {1}, .dilations = {1}, .pads = {0, 0}, .output_padding = {0}};
  // Each element, times the kernel, is added from its place on.
  CHECK(run(plain, {counting({1, 1, 2}), T({1, 1, 3}, Values{100, 10, 1})}) == Values{100, 210, 21, 2});
  op::ConvTranspose apart{.strides = {2}, .dilations = {1}, .pads = {0, 0}, .output_padding = {0}};
  CHECK(run(apart, {counting({1, 1, 2}), T({1, 1, 3}, Values{100, 10, 1})}) == Values{100, 10, 201, 20, 2});
  CHECK(run(apart, {counting({1, 1, 2}), T({1, 1, 1}, Values{5}), T({1}, Values{7})}) == Values{12, 7, 17});
  apart.output_padding = {2};
  CHECK(run(apart, {counting({1, 1, 2}), T({1, 1, 1}, Values{5}), T({1}, Values{7})}) == Values{12, 7, 17, 7, 7});
  // Pads cut off the borders.
  const op::ConvTranspose cut{.strides = {2}, .dilations = {2}, .pads = {1, 2}, .output_padding = {0}};
  CHECK(run(cut, {counting({1, 1, 3}), T({1, 1, 2}, Values{10, 1})}) == Values{0, 21, 0, 32});
  // Two channels become three: each kernel row is for one channel of the input.
  const T kernels({2, 3, 1}, Values{1, 2, 3, 10, 20, 30});
  CHECK(run(plain, {counting({1, 2, 1}), kernels}) == Values{21, 42, 63});
  op::ConvTranspose grouped = plain;
  grouped.groups = 2;
  CHECK(run(grouped, {counting({1, 2, 1}), kernels}) == Values{1, 2, 3, 20, 40, 60});
  const op::ConvTranspose image{.strides = {2, 2}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .output_padding = {0, 0}};
  CHECK(run(image, {T({1, 1, 1, 2}, Values{1, 10}), counting({1, 1, 2, 2})}) == Values{1, 2, 10, 20, 3, 4, 30, 40});
}

TEST_CASE("transposed convolution is the transpose of convolution") {
  // <conv(x, w), y> = <x, conv_transpose(y, w)>, with as much output padding as the stride has left over.
  for (const std::int64_t groups : {1, 2}) {
    const op::Conv conv{.strides = {2, 3}, .dilations = {1, 2}, .pads = {1, 0, 2, 1}, .groups = groups};
    const op::ConvTranspose back{conv.strides, conv.dilations, conv.pads, {1, 2}, groups};
    const T x = counting({2, 4, 5, 7}), w = counting({6, 4 / groups, 3, 2});
    const T there({2, 6, 3, 2}, run(conv, {x, w}));
    const T y = counting(there.extents);
    const T again(x.extents, run(back, {y, w}));
    double left = 0, right = 0;
    for (std::size_t i = 0; i < y.data.size(); ++i) left += there.data[i] * y.data[i];
    for (std::size_t i = 0; i < x.data.size(); ++i) right += again.data[i] * x.data[i];
    CHECK(left == right);
  }
}

TEST_CASE("pooling") {
  const T image = counting({1, 1, 4, 4});
  op::MaxPool max{.kernel = {3, 3}, .strides = {2, 2}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .ceil = true};
  CHECK(run(max, {image}) == Values{11, 12, 15, 16});
  max.ceil = false;
  CHECK(run(max, {image}) == Values{11});
  max.dilations = {1, 1};
  max.pads = {1, 1, 0, 0};
  CHECK(run(max, {image}) == Values{6, 8, 14, 16});
  CHECK(run(max, {T({1, 1, 4, 4}, -5.0)}) == Values{-5, -5, -5, -5});

  op::AveragePool mean{.kernel = {3, 3}, .strides = {2, 2}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .ceil = true};
  near(run(mean, {image}), {6, 7.5, 12, 13.5});
  const T row({1, 1, 3}, Values{3, 6, 9});
  op::AveragePool line{.kernel = {2}, .strides = {1}, .dilations = {1}, .pads = {1, 0}};
  CHECK(run(line, {row}) == Values{3, 4.5, 7.5});
  line.count_padding = true;
  CHECK(run(line, {row}) == Values{1.5, 4.5, 7.5});
  // Rounding up reaches one cell beyond the padding, which does not count even if padding does.
  const op::AveragePool beyond{
      .kernel = {3}, .strides = {2}, .dilations = {1}, .pads = {0, 1}, .ceil = true, .count_padding = true};
  CHECK(run(beyond, {counting({1, 1, 4})}) == Values{2, 7.0 / 3});
  const op::AveragePool further{
      .kernel = {3}, .strides = {3}, .dilations = {1}, .pads = {0, 1}, .ceil = true, .count_padding = true};
  CHECK(run(further, {counting({1, 1, 4})}) == Values{2, 2});
  // The last window would start in the padding at the end, so it is left out.
  const op::AveragePool last{.kernel = {3, 3},
                             .strides = {3, 3},
                             .dilations = {1, 1},
                             .pads = {1, 1, 1, 1},
                             .ceil = true,
                             .count_padding = true};
  near(run(last, {counting({1, 1, 2, 2})}), {10.0 / 9});
  // Dilation skips the whole input.
  CHECK(run(op::AveragePool{.kernel = {2}, .strides = {1}, .dilations = {2}, .pads = {1, 1}}, {T({1, 1, 1}, 4.0)}) ==
        Values{0});
  CHECK(run(op::MaxPool{.kernel = {2}, .strides = {1}, .dilations = {2}, .pads = {1, 1}}, {T({1, 1, 1}, 4.0)}) ==
        Values{-infinity});
  CHECK(run(op::GlobalAveragePool{}, {counting({1, 2, 2, 2})}) == Values{2.5, 6.5});
  // Squares 1, 4, 9, 16: with the next one only, because the window is even; then with one on either side.
  const T channels({1, 4, 1}, std::vector<double>{1, 2, 3, 4});
  CHECK(run(op::LocalResponseNorm{.size = 2, .alpha = 2, .beta = 1, .bias = 0}, {channels}) ==
        Values{1.0 / 5, 2.0 / 13, 3.0 / 25, 4.0 / 16});
  CHECK(run(op::LocalResponseNorm{.size = 3, .alpha = 3, .beta = 1, .bias = 1}, {channels}) ==
        Values{1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26});
  CHECK(run(op::LocalResponseNorm{.size = 100, .alpha = 100, .beta = 0.5, .bias = 6}, {channels}) ==
        Values{1.0 / 6, 2.0 / 6, 3.0 / 6, 4.0 / 6});
}

TEST_CASE("a kernel far larger than the input costs no more than the input") {
  constexpr std::int64_t side = 2'000'000'000;
  const op::AveragePool pool{
      .kernel = {side}, .strides = {side}, .dilations = {1}, .pads = {side - 1, side - 1}, .count_padding = true};
  CHECK(run(pool, {T({1, 1, 3}, 1.0)}) == Values{1.0 / side, 2.0 / side});
}

TEST_CASE("geometry") {
  CHECK(run(op::Transpose{.permutation = {1, 0}}, {counting({2, 3})}) == Values{1, 4, 2, 5, 3, 6});
  CHECK(run(op::Transpose{.permutation = {1, 2, 0}}, {counting({2, 2, 2})}) == Values{1, 5, 2, 6, 3, 7, 4, 8});
  CHECK(run(op::Concat{.axis = 1}, {counting({2, 2}), counting({2, 1}, 9)}) == Values{1, 2, 9, 3, 4, 10});
  CHECK(run(op::Concat{.axis = 0}, {counting({1, 2}), T({0, 2}, Values{})}) == Values{1, 2});
  CHECK(run(op::Split{.axis = 1, .at = 1}, {counting({2, 3})}, 0) == Values{1, 4});
  CHECK(run(op::Split{.axis = 1, .at = 1}, {counting({2, 3})}, 1) == Values{2, 3, 5, 6});
  CHECK(run(op::Slice{.axis = 1, .begin = 1, .end = 2}, {counting({2, 3})}) == Values{2, 5});
  CHECK(run(op::Slice{.axis = 0, .begin = 1, .end = 1}, {counting({2, 3})}).empty());
  CHECK(run(op::Pad{.before = {1, 0}, .after = {0, 1}, .value = -1}, {counting({1, 2})}) ==
        Values{-1, -1, -1, 1, 2, -1});
  CHECK(run(op::Reshape{.shape = {3, 2}}, {counting({2, 3})}) == Values{1, 2, 3, 4, 5, 6});
  CHECK(run(op::Enlarge{.kernel = {3}}, {counting({1, 2, 1})}) == Values{0, 1, 0, 0, 2, 0});
  CHECK(run(op::Enlarge{.kernel = {4}}, {counting({1, 1, 1})}) == Values{0, 1, 0, 0});
}

TEST_CASE("normalisation") {
  const Values normal = run(
      op::BatchNorm{.epsilon = 0},
      {counting({1, 2, 2}), T({2}, Values{1, 2}), T({2}, Values{0, 5}), T({2}, Values{1, 3}), T({2}, Values{1, 4})});
  near(normal, {0, 1, 5, 6});
  const T x({2, 2}, Values{1, 3, 10, 10});
  near(run(op::LayerNorm{.axis = 1, .epsilon = 0.0}, {T({1, 2}, Values{1, 3}), T({2}, Values{2, 3})}), {-2, 3});
  near(run(op::LayerNorm{.axis = 1, .epsilon = 3}, {x, T({2}, Values{2, 4}), T({2}, Values{1, 1})}), {0, 3, 1, 1});
  near(run(op::LayerNorm{.axis = 0, .epsilon = 0}, {T({2, 1}, Values{0, 4}), T({}, Values{1})}), {-1, 1});
  near(run(op::Softmax{.axis = 1}, {T({2, 2}, Values{0, std::log(3.0), 5, 5})}), {0.25, 0.75, 0.5, 0.5});
  near(run(op::Softmax{.axis = 0}, {T({2, 1}, Values{1000, 1000 + std::log(3.0)})}), {0.25, 0.75});
}

TEST_CASE("reduction") {
  const T x = counting({2, 3});
  CHECK(run(op::ReduceSum{.axes = {0}}, {x}) == Values{5, 7, 9});
  CHECK(run(op::ReduceSum{.axes = {1, 0}, .keep = false}, {x}) == Values{21});
  CHECK(run(op::ReduceSum{.axes = {}}, {x}) == x.data);
  CHECK(run(op::ReduceSum{.axes = {0}}, {T({0, 2}, Values{})}) == Values{0, 0});
  CHECK(run(op::ReduceMean{.axes = {1}}, {x}) == Values{2, 5});
  CHECK(run(op::ReduceMax{.axes = {1}}, {x}) == Values{3, 6});
  CHECK(run(op::ReduceMax{.axes = {0}}, {T({2}, Values{-3, -2})}) == Values{-2});
}

TEST_CASE("constants") {
  CHECK(run(op::IdentityMatrix{.size = 2}, {}) == Values{1, 0, 0, 1});
  CHECK(run(op::IdentityKernel{.channels = 2, .groups = 1, .kernel = {3}}, {}) ==
        Values{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  CHECK(run(op::PoolingKernel{.channels = 2, .groups = 2, .kernel = {2}}, {}) == Values{0.5, 0.5, 0.5, 0.5});
  CHECK(run(op::Ones{.shape = {2}}, {}) == Values{1, 1});
  CHECK(run(op::Ones{.shape = {}}, {}) == Values{1});
}

TEST_CASE("the constant kernels do what their names say") {
  const T image = counting({2, 4, 5, 3});
  for (const std::int64_t groups : {1, 2, 4}) {
    const auto kernel = evaluate<double>(op::IdentityKernel{.channels = 4, .groups = groups, .kernel = {3, 1}}, {});
    const op::Conv same{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 0, 1, 0}, .groups = groups};
    CHECK(run(same, {image, kernel[0]}) == image.data);
    const auto share = evaluate<double>(op::PoolingKernel{.channels = 4, .groups = groups, .kernel = {2, 2}}, {});
    const op::Conv conv{.strides = {2, 1}, .dilations = {1, 1}, .pads = {1, 0, 0, 1}, .groups = groups};
    const op::AveragePool pool{
        .kernel = {2, 2}, .strides = {2, 1}, .dilations = {1, 1}, .pads = {1, 0, 0, 1}, .count_padding = true};
    near(run(conv, {image, share[0]}), run(pool, {image}));
  }
}

}  // namespace taso::test
