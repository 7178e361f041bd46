// Distinguishes outputs of a device that rounds differently from outputs that are wrong.
#include "cli/bench/agreement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/core/random.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

using namespace cli;

namespace {

constexpr std::int64_t size = 64;

/// What is made of a product: itself; its difference from something almost as large, which is as exact as the product
/// and so less exact for its size; or the sign of that difference.
enum class Rest { product, difference, sign };

/// A product of two matrices, the second of which is a weight.
struct Case {
  std::vector<Rest> outputs;
  Array input, weight, subtrahend;
  Graph graph;
};

Array random_array(Random& random, double scale) {
  Array array(ElementType::float32, {size, size});
  for (float& value : array.mutable_values<float>()) value = static_cast<float>((random.unit() * 2 - 1) * scale);
  return array;
}

Case make(const std::vector<Rest>& outputs, Array input, Array weight, Array subtrahend) {
  Graph graph;
  graph.pool = std::make_shared<Pool>();
  Pool& pool = *graph.pool;
  const Type type{ElementType::float32, shape_of({size, size})};
  const auto constant = [&](const char* name, const Type& of, const Array& data) {
    return pool.constant(name, of, std::make_shared<HeldWeight>(data));
  };
  graph.inputs = {pool.input("x", type)};
  const Value product = pool.apply(op::MatMul{}, {graph.inputs[0], constant("w", type, weight)});
  const Value difference = pool.apply(op::Sub{}, {product, constant("subtrahend", type, subtrahend)});
  const Value steep = constant("million", {ElementType::float32, Shape{}}, Array::scalar<float>(1e6));
  const Value sign = pool.apply(op::Clip{0, 1}, {pool.apply(op::Mul{}, {difference, steep})});
  for (const Rest rest : outputs)
    graph.outputs.push_back(rest == Rest::product ? product : rest == Rest::difference ? difference : sign);
  return {outputs, std::move(input), std::move(weight), std::move(subtrahend), std::move(graph)};
}

std::vector<Array> reference(const Case& one) { return runtime::interpret(one.graph, std::vector{one.input}); }

/// With weights up to `scale`, and differences up to `left` of that.
Case make(const std::vector<Rest>& outputs, double scale = 1, double left = 0.1) {
  Random random(11);
  const Array input = random_array(random, 1), weight = random_array(random, scale);
  const Array product = runtime::evaluate(op::MatMul{}, std::vector{input, weight})[0];
  return make(outputs, input, weight,
              runtime::evaluate(op::Add{}, std::vector{product, random_array(random, left * scale)})[0]);
}

/// The numbers of a device that truncates instead of rounding to the nearest: as bad as allowed, but right.
Array cut_short(const Array& array, cost::Precision precision) {
  const int dropped = precision == cost::Precision::fp32 ? 0 : precision == cost::Precision::bf16 ? 16 : 13;
  Array result(array.type(), array.extents());
  const auto from = array.values<float>();
  std::transform(from.begin(), from.end(), result.mutable_values<float>().begin(), [&](float value) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> dropped << dropped);
  });
  return result;
}

std::vector<Array> on_device(const Case& one, cost::Precision precision) {
  return reference(
      make(one.outputs, cut_short(one.input, precision), cut_short(one.weight, precision), one.subtrahend));
}

cli::Agreement agreement(const Case& one, const std::vector<Array>& outputs, cost::Precision precision) {
  return agreement_of(one.graph, {one.input}, outputs, precision, {});
}

Array times(const Array& array, float factor) {
  Array result(array.type(), array.extents());
  const auto from = array.values<float>();
  std::transform(from.begin(), from.end(), result.mutable_values<float>().begin(),
                 [&](float value) { return value * factor; });
  return result;
}

}  // namespace

TEST_CASE("a program that amplifies rounding agrees up to the error of rounding alone", "[agreement]") {
  for (const Rest rest : {Rest::difference, Rest::sign}) {
    const Case one = make({rest});
    const cli::Agreement found = agreement(one, on_device(one, cost::Precision::tf32), cost::Precision::tf32);
    INFO("error " << found.error << ", rounding alone " << found.rounding_error.value_or(-1));
    CHECK(found.agrees);
    CHECK(found.error > tolerance_of(cost::Precision::tf32));
    CHECK(found.rounding_error.has_value());
  }
}

TEST_CASE("a program that does not amplify rounding must meet the tolerance", "[agreement]") {
  const Case one = make({Rest::product});
  for (const cost::Precision precision :
       {cost::Precision::fp32, cost::Precision::tf32, cost::Precision::fp16, cost::Precision::bf16}) {
    const cli::Agreement right = agreement(one, on_device(one, precision), precision);
    CHECK(right.agrees);
    CHECK_FALSE(right.rounding_error.has_value());
    const auto tolerance = static_cast<float>(tolerance_of(precision));
    const std::vector<Array> off{times(reference(one)[0], 1 + 1.5F * tolerance)};
    const cli::Agreement wrong = agreement(one, off, precision);
    CHECK_FALSE(wrong.agrees);
    CHECK(wrong.error == Approx(1.5 * tolerance).epsilon(0.01));
    CHECK(wrong.rounding_error.has_value() == (precision != cost::Precision::fp32));
  }
}

TEST_CASE("unrelated outputs never agree, however large the error by rounding is", "[agreement]") {
  const double nothing = 1e-5;  // rounding alone changes differences by more than their size
  for (const Rest rest : {Rest::product, Rest::difference, Rest::sign})
    for (const cost::Precision precision :
         {cost::Precision::fp32, cost::Precision::tf32, cost::Precision::fp16, cost::Precision::bf16})
      for (const double left : {0.1, nothing}) {
        const Case one = make({rest}, 1, left);
        const Array right = reference(one)[0];
        const Array other = runtime::evaluate(op::Transpose{{1, 0}}, std::vector{right})[0];
        for (const Array& wrong : {times(right, 0), times(right, 2), times(right, -1), other,
                                   times(right, std::numeric_limits<float>::quiet_NaN())}) {
          const cli::Agreement found = agreement(one, {wrong}, precision);
          CHECK_FALSE(found.agrees);
          if (rest != Rest::product && left == nothing && precision != cost::Precision::fp32)
            CHECK(found.rounding_error.value() > 0.5);
        }
      }
}

TEST_CASE("every output is compared with its own rounding error", "[agreement]") {
  const Case one = make({Rest::difference, Rest::product});
  std::vector<Array> outputs = on_device(one, cost::Precision::tf32);
  const cli::Agreement right = agreement(one, outputs, cost::Precision::tf32);
  CHECK(right.agrees);
  outputs[1] = times(outputs[1], 1.02F);
  const cli::Agreement wrong = agreement(one, outputs, cost::Precision::tf32);
  CHECK_FALSE(wrong.agrees);
  CHECK(wrong.error < right.error);  // reports the wrong output, though the other is farther off
  CHECK(wrong.rounding_error.value() < 1e-3);
}

TEST_CASE("an infinite rounding error excuses nothing", "[agreement]") {
  const Case one = make({Rest::product}, 1e5);  // weights out of the range of float16
  const std::vector<Array> off{times(reference(one)[0], 1.05F)};
  const cli::Agreement found = agreement(one, off, cost::Precision::fp16);
  CHECK_FALSE(found.agrees);
  CHECK(std::isinf(found.rounding_error.value()));
}

TEST_CASE("the distance of two arrays is relative to the norm of the first", "[agreement]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto distance = [](const std::vector<float>& x, const std::vector<float>& y) {
    return relative_error(Array::of<float>({3}, x), Array::of<float>({3}, y));
  };
  CHECK(distance({3, 4, 0}, {3, 4, 0}) == 0);
  CHECK(distance({3, 4, 0}, {3, 4, 1}) == Approx(0.2));
  CHECK(distance({3, 4, infinity}, {3, 3, infinity}) == Approx(0.2));
  CHECK(distance({3, 4, nan}, {3, 3, nan}) == Approx(0.2));
  for (const float one : {infinity, -infinity, nan}) {
    CHECK(std::isinf(distance({3, 4, 0}, {3, 4, one})));
    CHECK(std::isinf(distance({3, 4, one}, {3, 4, 0})));
  }
  CHECK(std::isinf(distance({3, 4, infinity}, {3, 4, -infinity})));
}

}  // namespace taso::test
