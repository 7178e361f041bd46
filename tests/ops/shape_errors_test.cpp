// Operands that do not fit are refused with a ShapeError.
#include <limits>

#include "ops/graph/operator.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
const Dim N = Dim::symbol("N");
const Dim M = Dim::symbol("M");

void refuses(const Operator& op, const Shapes& shapes) {
  CAPTURE(name_of(op));
  for (const Shape& shape : shapes) UNSCOPED_INFO(text_of(shape));
  CHECK_THROWS_AS(infer(op, shapes), ShapeError);
}
void accepts(const Operator& op, const Shapes& shapes) {
  CAPTURE(name_of(op));
  CHECK_NOTHROW(infer(op, shapes));
}

}  // namespace

TEST_CASE("the number of operands is checked") {
  for (const Operator& op : all_operators()) {
    refuses(op, Shapes(max_inputs(op) + 1, Shape{2, 2, 2}));
    if (min_inputs(op) > 0) refuses(op, Shapes(min_inputs(op) - 1, Shape{2, 2, 2}));
  }
}

TEST_CASE("element-wise operators refuse shapes that do not broadcast") {
  refuses(op::Add{}, {{2, 3}, {2}});
  refuses(op::Mul{}, {{N}, {M}});
  accepts(op::Mul{}, {{N}, {1}});
  refuses(op::ScalarMul{}, {{2}, {2}});
  refuses(op::ScalarMul{}, {{2}, {1, 1}});
  refuses(op::ScalarMul{}, {{2}, {N}});
  refuses(op::Clip{.low = infinity}, {{2}});
  refuses(op::Clip{.high = -infinity}, {{2}});
  refuses(op::Clip{.low = not_a_number}, {{2}});
  refuses(op::LeakyRelu{.alpha = not_a_number}, {{2}});
}

TEST_CASE("matmul refuses vectors and unequal inner dimensions") {
  refuses(op::MatMul{}, {{2}, {2, 3}});
  refuses(op::MatMul{}, {{2, 3}, {3}});
  refuses(op::MatMul{}, {{2, 3}, {2, 3}});
  refuses(op::MatMul{}, {{2, N}, {M, 3}});
  refuses(op::MatMul{}, {{2, 4, 3}, {3, 3, 2}});
  accepts(op::MatMul{}, {{N, 4, M}, {1, M, 2}});
}

TEST_CASE("convolution refuses channels, groups and windows that do not fit") {
  const op::Conv good{.strides = {1}, .dilations = {1}, .pads = {0, 0}};
  const Shapes shapes{{1, 4, 5}, {6, 4, 3}};
  accepts(good, shapes);
  accepts(good, {{N, M, 5}, {6, M, 3}, {6}});
  refuses(good, {{1, 4}, {6, 4}});
  refuses(good, {{1, 4, 5}, {6, 4, 3, 3}});
  refuses(good, {{1, 4, 5}, {6, 3, 3}});
  refuses(good, {{1, 4, 5}, {6, 4, 6}});
  refuses(good, {{1, 4, 5}, {6, 4, 0}});
  refuses(good, {{1, 4, 5}, {6, 4, 3}, {4}});
  refuses(good, {{1, 4, 5}, {6, 4, 3}, {6, 1}});
  refuses(good, {{1, 4, 5, 5}, {6, 4, 3, 3}});
  const auto with = [&](auto change) {
    op::Conv conv = good;
    change(conv);
    refuses(conv, shapes);
  };
  with([](op::Conv& c) { c.groups = 0; });
  with([](op::Conv& c) { c.groups = -1; });
  with([](op::Conv& c) { c.groups = 4; });
  with([](op::Conv& c) { c.groups = huge; });
  with([](op::Conv& c) { c.strides = {0}; });
  with([](op::Conv& c) { c.strides = {huge}; });
  with([](op::Conv& c) { c.strides = {}; });
  with([](op::Conv& c) { c.dilations = {-1}; });
  with([](op::Conv& c) { c.dilations = {3}; });
  with([](op::Conv& c) { c.dilations = {huge}; });
  with([](op::Conv& c) { c.pads = {0}; });
  with([](op::Conv& c) { c.pads = {-1, 0}; });
  with([](op::Conv& c) { c.pads = {huge, huge}; });
  op::Conv grouped = good;
  grouped.groups = 4;
  refuses(grouped, {{1, 4, 5}, {6, 1, 3}});
  accepts(grouped, {{1, 4, 5}, {8, 1, 3}});
}

TEST_CASE("transposed convolution refuses channels, groups and windows that do not fit") {
  const op::ConvTranspose good{.strides = {2}, .dilations = {1}, .pads = {0, 0}, .output_padding = {0}};
  const Shapes shapes{{1, 4, 5}, {4, 6, 3}};
  accepts(good, shapes);
  accepts(good, {{N, M, N}, {M, 6, 3}, {6}});
  refuses(good, {{1, 4}, {4, 6}});
  refuses(good, {{1, 4, 5}, {4, 6, 3, 3}});
  refuses(good, {{1, 4, 5}, {6, 4, 3}});
  refuses(good, {{1, 4, 5}, {4, 6, 0}});
  refuses(good, {{1, 4, 5}, {4, 6, 3}, {4}});
  refuses(good, {{1, 4, 5}, {4, 6, 3}, {6, 1}});
  const auto with = [&](auto change) {
    op::ConvTranspose conv = good;
    change(conv);
    refuses(conv, shapes);
  };
  with([](op::ConvTranspose& c) { c.groups = 0; });
  with([](op::ConvTranspose& c) { c.groups = 3; });
  with([](op::ConvTranspose& c) { c.groups = huge; });
  with([](op::ConvTranspose& c) { c.strides = {0}; });
  with([](op::ConvTranspose& c) { c.strides = {huge}; });
  with([](op::ConvTranspose& c) { c.strides = {}; });
  with([](op::ConvTranspose& c) { c.dilations = {-1}; });
  with([](op::ConvTranspose& c) { c.pads = {0}; });
  with([](op::ConvTranspose& c) { c.pads = {-1, 0}; });
  with([](op::ConvTranspose& c) { c.pads = {6, 6}; });
  with([](op::ConvTranspose& c) { c.output_padding = {}; });
  with([](op::ConvTranspose& c) { c.output_padding = {-1}; });
  with([](op::ConvTranspose& c) { c.output_padding = {huge}; });
  op::ConvTranspose grouped = good;
  grouped.groups = 2;
  accepts(grouped, {{1, 4, 5}, {4, 6, 3}, {12}});
  refuses(grouped, {{1, 4, 5}, {4, 6, 3}, {6}});
}

TEST_CASE("pooling refuses windows of padding only, and rounding up the unknown") {
  const op::MaxPool good{.kernel = {2}, .strides = {1}, .dilations = {1}, .pads = {1, 1}};
  accepts(good, {{1, 1, N}});
  refuses(good, {{1, 1}});
  refuses(good, {{1, 1, 0}});
  refuses(good, {{1, 1, 4, 4}});
  const auto with = [&](auto change, const Shape& shape = {1, 1, 4}) {
    op::MaxPool pool = good;
    change(pool);
    refuses(pool, {shape});
    refuses(op::AveragePool{pool.kernel, pool.strides, pool.dilations, pool.pads, pool.ceil}, {shape});
  };
  with([](op::MaxPool& p) { p.ceil = true; }, {1, 1, N});
  with([](op::MaxPool& p) { p.pads = {2, 0}; });
  with([](op::MaxPool& p) { p.pads = {0, 2}; });
  with([](op::MaxPool& p) { p.pads = {-1, 0}; });
  with([](op::MaxPool& p) { p.kernel = {0}; });
  with([](op::MaxPool& p) { p.kernel = {}; });
  with([](op::MaxPool& p) { p.kernel = {7}; });
  with([](op::MaxPool& p) { p.kernel = {huge}; });
  with([](op::MaxPool& p) { p.strides = {0}; });
  with([](op::MaxPool& p) { p.dilations = {0}; });
  refuses(op::GlobalAveragePool{}, {{2, 3}});
  refuses(op::GlobalAveragePool{}, {{2, 3, 0}});
  refuses(op::LocalResponseNorm{.size = 3}, {{2, 3}});
  refuses(op::LocalResponseNorm{.size = 0}, {{2, 3, 4}});
  refuses(op::LocalResponseNorm{.size = huge}, {{2, 3, 4}});
  refuses(op::LocalResponseNorm{.size = 3, .alpha = std::numeric_limits<double>::infinity()}, {{2, 3, 4}});
}

TEST_CASE("geometry refuses cuts outside, joins of unequal shapes and unequal counts") {
  refuses(op::Transpose{.permutation = {0}}, {{2, 3}});
  refuses(op::Transpose{.permutation = {0, 0}}, {{2, 3}});
  refuses(op::Transpose{.permutation = {0, 2}}, {{2, 3}});
  refuses(op::Transpose{.permutation = {0, -1}}, {{2, 3}});
  refuses(op::Concat{.axis = 2}, {{2, 3}, {2, 3}});
  refuses(op::Concat{.axis = -1}, {{2, 3}, {2, 3}});
  refuses(op::Concat{.axis = 0}, {{2, 3}, {2, 4}});
  refuses(op::Concat{.axis = 0}, {{2, 3}, {2}});
  refuses(op::Concat{.axis = 0}, {{huge}, {1}});
  refuses(op::Split{.axis = 1, .at = 1}, {{2}});
  refuses(op::Split{.axis = 0, .at = 3}, {{2}});
  refuses(op::Split{.axis = 0, .at = -1}, {{2}});
  refuses(op::Split{.axis = 0, .at = N + 1}, {{N}});
  refuses(op::Slice{.axis = 1, .begin = 0, .end = 1}, {{2}});
  refuses(op::Slice{.axis = 0, .begin = -1, .end = 1}, {{2}});
  refuses(op::Slice{.axis = 0, .begin = 2, .end = 1}, {{2}});
  refuses(op::Slice{.axis = 0, .begin = 0, .end = 3}, {{2}});
  refuses(op::Slice{.axis = 0, .begin = std::numeric_limits<std::int64_t>::min(), .end = huge}, {{2}});
  refuses(op::Pad{.before = {0}, .after = {0}}, {{2, 3}});
  refuses(op::Pad{.before = {-1}, .after = {0}}, {{2}});
  refuses(op::Pad{.before = {huge}, .after = {0}}, {{2}});
  refuses(op::Pad{.before = {0}, .after = {0}, .value = not_a_number}, {{2}});
  refuses(op::Reshape{.shape = {4}}, {{2, 3}});
  refuses(op::Reshape{.shape = {-2, -3}}, {{2, 3}});
  refuses(op::Reshape{.shape = {M, 3}}, {{N, 3}});
  refuses(op::Reshape{.shape = {huge, huge}}, {{2, 3}});
  accepts(op::Reshape{.shape = {N * 3}}, {{N, 3}});
  refuses(op::Enlarge{.kernel = {3}}, {{2, 2, 5}});
  refuses(op::Enlarge{.kernel = {3}}, {{2, 2, N}});
  refuses(op::Enlarge{.kernel = {3, 3}}, {{2, 2, 1}});
  refuses(op::Enlarge{.kernel = {}}, {{2, 2}});
}

TEST_CASE("normalisation and reduction refuse foreign axes and shapes") {
  refuses(op::BatchNorm{}, {{2}, {2}, {2}, {2}, {2}});
  refuses(op::BatchNorm{}, {{2, 3}, {3}, {3}, {3}, {2}});
  refuses(op::BatchNorm{}, {{2, 3}, {3}, {1, 3}, {3}, {3}});
  refuses(op::BatchNorm{.epsilon = not_a_number}, {{2, 3}, {3}, {3}, {3}, {3}});
  refuses(op::LayerNorm{.axis = 2}, {{2, 3}, {3}});
  refuses(op::LayerNorm{.axis = 1}, {{2, 3}, {2}});
  refuses(op::LayerNorm{.axis = 1}, {{2, 1}, {3}});
  refuses(op::LayerNorm{.axis = 1}, {{2, 3}, {1, 2, 3}});
  refuses(op::LayerNorm{.axis = 1, .epsilon = infinity}, {{2, 3}, {3}});
  refuses(op::Softmax{.axis = -1}, {{2, 3}});
  refuses(op::Softmax{.axis = 0}, {{}});
  refuses(op::ReduceSum{.axes = {2}}, {{2, 3}});
  refuses(op::ReduceSum{.axes = {-1}}, {{2, 3}});
  refuses(op::ReduceMean{.axes = {1, 1}}, {{2, 3}});
  refuses(op::ReduceMean{.axes = {0}}, {{0, 3}});
  refuses(op::ReduceMax{.axes = {0}}, {{0, 3}});
  accepts(op::ReduceSum{.axes = {0}}, {{0, 3}});
}

TEST_CASE("constants refuse invalid sizes") {
  refuses(op::IdentityMatrix{.size = 0}, {});
  refuses(op::IdentityMatrix{.size = huge}, {});
  refuses(op::IdentityMatrix{.size = 2, .type = ElementType::undefined}, {});
  refuses(op::IdentityKernel{.channels = 4, .groups = 3, .kernel = {3}}, {});
  refuses(op::IdentityKernel{.channels = 4, .groups = 1, .kernel = {2}}, {});
  refuses(op::IdentityKernel{.channels = 4, .groups = 1, .kernel = {}}, {});
  refuses(op::IdentityKernel{.channels = 4, .groups = 0, .kernel = {3}}, {});
  refuses(op::PoolingKernel{.channels = 4, .groups = 1, .kernel = {0}}, {});
  refuses(op::PoolingKernel{.channels = 1 << 30, .groups = 1, .kernel = {1 << 30, 1 << 30}}, {});
  refuses(op::Ones{.shape = {-1}}, {});
  refuses(op::Ones{.shape = {huge, huge}}, {});
}

TEST_CASE("a symbolic attribute has no meaning on numbers, and says so") {
  const std::vector<ops::Tensor<double>> x{ops::Tensor<double>({4}, 1.0)};
  CHECK_THROWS_AS(evaluate<double>(op::Split{.axis = 0, .at = N}, x), ShapeError);
  CHECK_THROWS_AS(evaluate<double>(op::Slice{.axis = 0, .begin = N, .end = N + 1}, x), ShapeError);
  CHECK_THROWS_AS(evaluate<double>(op::Ones{.shape = {N}}, {}), ShapeError);
}

}  // namespace taso::test
