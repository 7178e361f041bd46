#include "cli/bench/rounding.h"

#include <bit>
#include <cmath>
#include <limits>

#include "cli/bench/agreement.h"
#include "cli/bench/gpu_model.h"
#include "cli/bench/range.h"
#include "ops/core/random.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

using namespace cli;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The number format of a precision, by definition.
struct Format {
  cost::Precision precision;
  int fraction, least_exponent, greatest_exponent;
};

const std::vector<Format> formats{{cost::Precision::tf32, 10, -126, 127},
                                  {cost::Precision::fp16, 10, -14, 15},
                                  {cost::Precision::bf16, 7, -126, 127}};

/// The same in double, where everything but the last rounding is exact.
double rounded_in_double(double value, const Format& format) {
  if (!std::isfinite(value) || value == 0) return value;
  const double step = std::ldexp(1, std::max(std::ilogb(value), format.least_exponent) - format.fraction);
  const double result = std::nearbyint(value / step) * step;
  return std::abs(result) < std::ldexp(1, format.greatest_exponent + 1) ? result : std::copysign(infinity, value);
}

}  // namespace

TEST_CASE("numbers are rounded to the nearest number of a precision", "[rounding]") {
  Random random(7);
  for (const Format& format : formats) {
    std::size_t ties = 0;
    for (int i = 0; i < 200'000; ++i) {
      auto word = static_cast<std::uint32_t>(random.next());
      if (i % 2 == 0) {  // half of them midway between two numbers, or on one
        const int dropped = 23 - format.fraction;
        word = word >> (dropped - 1) << (dropped - 1);
        ++ties;
      }
      const auto value = std::bit_cast<float>(word);
      const float found = rounded(value, format.precision);
      if (std::isnan(value)) {
        if (!std::isnan(found)) FAIL("a NaN became " << found);
      } else if (found != rounded_in_double(value, format) || std::signbit(found) != std::signbit(value)) {
        FAIL(cost::name_of(format.precision) << " has " << value << " as " << found);
      } else if (rounded(found, format.precision) != found) {
        FAIL(cost::name_of(format.precision) << " has " << found << ", and yet it is rounded");
      }
    }
    CHECK(ties > 0);
    for (const float value : {0.0F, -0.0F, 1.0F, -2.5F, infinity, -infinity})
      CHECK(rounded(value, format.precision) == value);
    CHECK(std::isnan(rounded(std::numeric_limits<float>::signaling_NaN(), format.precision)));
    CHECK(rounded(std::numeric_limits<float>::max(), format.precision) == infinity);
    CHECK(rounded(std::numeric_limits<float>::denorm_min(), format.precision) == 0);
  }
}

TEST_CASE("ties go to the even number", "[rounding]") {
  CHECK(rounded(1 + 0x1p-11F, cost::Precision::tf32) == 1);
  CHECK(rounded(1 + 0x3p-11F, cost::Precision::tf32) == 1 + 0x1p-9F);
  CHECK(rounded(0x3p-137F, cost::Precision::tf32) == 0x1p-135F);  // subnormal, with a step of 2^-136
  CHECK(rounded(0x3p-25F, cost::Precision::fp16) == 0x1p-23F);
  CHECK(rounded(65519.0F, cost::Precision::fp16) == 65504);
  CHECK(rounded(65520.0F, cost::Precision::fp16) == infinity);
  CHECK(rounded(1 + 0x1p-8F, cost::Precision::bf16) == 1);
  CHECK(rounded(1 + 0x3p-8F, cost::Precision::bf16) == 1 + 0x1p-6F);
  CHECK(rounded(1 + 0x1p-23F, cost::Precision::fp32) == 1 + 0x1p-23F);
}

TEST_CASE("only float32 is rounded", "[rounding]") {
  const Array doubles = Array::of<double>({1}, {1 + 0x1p-30}), integers = Array::of<std::int64_t>({1}, {123'456'789});
  CHECK(identical(rounded(doubles, cost::Precision::bf16), doubles));
  CHECK(identical(rounded(integers, cost::Precision::bf16), integers));
}

TEST_CASE("only operands of products are rounded", "[rounding]") {
  Random random(3);
  const Array x = random_array(random, ElementType::float32, {4, 5}),
              w = random_array(random, ElementType::float32, {5, 6}),
              shift = random_array(random, ElementType::float32, {4, 6});
  for (const Format& format : formats) {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    Pool& pool = *graph.pool;
    const Value a = pool.input("x", {ElementType::float32, shape_of({4, 5})});
    const Value b = pool.constant("w", {ElementType::float32, shape_of({5, 6})}, std::make_shared<HeldWeight>(w));
    const Value c =
        pool.constant("shift", {ElementType::float32, shape_of({4, 6})}, std::make_shared<HeldWeight>(shift));
    const Value product = pool.apply(op::MatMul{}, {a, b});
    const Value shifted = pool.apply(op::Add{}, {product, c});
    const Value second = pool.apply(op::MatMul{}, {pool.apply(op::Transpose{{1, 0}}, {a}), shifted});
    graph.inputs = {a};
    graph.outputs = {shifted, second, pool.apply(op::Relu{}, {a})};
    const std::vector<Array> inputs{x};
    const std::vector<Array> found = runtime::interpret(with_rounded_products(graph, format.precision), inputs);

    const auto round = [&](const Array& array) { return rounded(array, format.precision); };
    const auto apply = [](const Operator& op, std::vector<Array> operands) {
      return runtime::evaluate(op, operands)[0];
    };
    const Array expected = apply(op::Add{}, {apply(op::MatMul{}, {round(x), round(w)}), shift});
    CHECK(identical(found[0], expected));
    CHECK(identical(found[1], apply(op::MatMul{}, {apply(op::Transpose{{1, 0}}, {round(x)}), round(expected)})));
    CHECK(identical(found[2], apply(op::Relu{}, {x})));
    CHECK_FALSE(identical(found[0], runtime::interpret(graph, inputs)[0]));
  }
}

namespace {

/// Blocks of mobile networks: widen, filter each channel, scale the channels by their contents, narrow. Each
/// convolution multiplies the magnitude of its input by `gain`.
Graph mobile_blocks(std::size_t blocks, double gain, ValueNames& names, std::vector<Array>& inputs) {
  const std::int64_t channels = 8, wide = 16, size = 8;
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Random random(7);
  std::size_t weights = 0;
  const auto conv = [&](const Value& x, std::int64_t out, std::int64_t kernel, std::int64_t groups) {
    const Extents extents{out, (*static_extents(*x.type().shape))[1] / groups, kernel, kernel};
    Array numbers(ElementType::float32, extents);
    const double scale = gain / std::sqrt(static_cast<double>(extents[1] * kernel * kernel));
    for (float& number : numbers.mutable_values<float>()) number = static_cast<float>((random.unit() * 2 - 1) * scale);
    const Value w = graph.pool->input("w" + std::to_string(weights++), {ElementType::float32, shape_of(extents)});
    graph.inputs.push_back(w);
    inputs.push_back(std::move(numbers));
    const std::int64_t pad = kernel / 2;
    const op::Conv op{{1, 1}, {1, 1}, {pad, pad, pad, pad}, groups};
    return graph.pool->add(Operator(op), std::vector{x, w}).output();
  };
  const auto swish = [&](const Value& x) {
    return graph.pool
        ->add(Operator(op::Mul()), std::vector{x, graph.pool->add(Operator(op::Sigmoid()), std::vector{x}).output()})
        .output();
  };
  Value value = graph.pool->input("x", {ElementType::float32, shape_of({1, channels, size, size})});
  graph.inputs = {value};
  inputs.push_back(random_input(random, ElementType::float32, {1, channels, size, size}));
  for (std::size_t i = 0; i < blocks; ++i) {
    value = swish(conv(swish(conv(value, wide, 1, 1)), wide, 3, wide));
    value = conv(value, channels, 1, 1);
    names.emplace(value, "block" + std::to_string(i));
  }
  graph.outputs = {value};
  return graph;
}

}  // namespace

TEST_CASE("results out of the range of a small type are named") {
  const auto trouble = [](double gain, cost::Precision precision) {
    ValueNames names;
    std::vector<Array> inputs;
    const Graph graph = mobile_blocks(12, gain, names, inputs);
    return range_trouble(graph, inputs, precision, names, {});
  };
  CHECK_THAT(trouble(0.5, cost::Precision::fp16), Catch::Contains("results vanish below 3e-8, first "));
  CHECK_THAT(trouble(8, cost::Precision::fp16), Catch::Contains("results have elements beyond 65,504, first "));
  CHECK(trouble(2, cost::Precision::fp16).find("beyond") == std::string::npos);
  CHECK(trouble(8, cost::Precision::bf16).empty());
}

TEST_CASE("an error that rounding alone explains is distinguished from a wrong output") {
  CHECK(is_rounding_as_far({false, 1, 1.0}));
  CHECK(is_rounding_as_far({false, 1, std::numeric_limits<double>::infinity()}));
  CHECK_FALSE(is_rounding_as_far({false, 1, 0.01}));
  CHECK_FALSE(is_rounding_as_far({false, 1, {}}));
  CHECK_FALSE(is_rounding_as_far({true, 0.2, 0.2}));
}

}  // namespace taso::test
