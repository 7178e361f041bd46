// Host functions that compute: values from the specification, limits of types, and operands that do not fit.
#include <cmath>
#include <limits>

#include "runtime/host/host.h"
#include "tests/catch.h"

namespace taso::test {

using namespace runtime;

namespace {

struct Node {
  std::string_view op_type;
  std::int64_t opset = 20;
  Attributes attributes = {};
  std::size_t outputs = 1;

  std::vector<Array> operator()(std::vector<std::optional<Array>> inputs) const {
    const HostFunction function = find_host_function("", op_type);
    REQUIRE(function != nullptr);
    return function(HostCall{op_type, opset, attributes, std::move(inputs), outputs});
  }
};

Attributes with(std::string name, Attributes::Attribute value) {
  Attributes attributes;
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

template <class T>
Array list(std::vector<T> values) {
  const auto length = static_cast<std::int64_t>(values.size());
  return Array::of<T>({length}, values);
}

template <class T>
std::vector<T> values(const Array& array) {
  const auto span = array.values<T>();
  return {span.begin(), span.end()};
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();

TEST_CASE("integers wrap, and dividing by zero gives zero") {
  CHECK(values<std::int32_t>(
            Node{"Div"}({list<std::int32_t>({7, -7, 1, least}), list<std::int32_t>({2, 2, 0, -1})})[0]) ==
        std::vector<std::int32_t>{3, -3, 0, least});
  CHECK(values<std::int32_t>(Node{"Sub"}({list<std::int32_t>({least}), list<std::int32_t>({1})})[0]) ==
        std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::max()});
  CHECK(values<std::uint16_t>(Node{"Mul"}({list<std::uint16_t>({65535}), list<std::uint16_t>({65535})})[0]) ==
        std::vector<std::uint16_t>{1});
  CHECK(values<std::int32_t>(Node{"Abs"}({list<std::int32_t>({least, -3})})[0]) == std::vector<std::int32_t>{least, 3});
  CHECK(values<std::int32_t>(
            Node{"Mod"}({list<std::int32_t>({-4, 7, 5, least}), list<std::int32_t>({3, -3, 0, -1})})[0]) ==
        std::vector<std::int32_t>{2, -2, 0, 0});
  CHECK(values<std::int32_t>(Node{"Mod", 20, with("fmod", std::int64_t{1})}(
            {list<std::int32_t>({-4, 7}), list<std::int32_t>({3, -3})})[0]) == std::vector<std::int32_t>{-1, 1});
}

TEST_CASE("shifts beyond the width leave zero") {
  const Node left{"BitShift", 20, with("direction", std::string("LEFT"))};
  const Node right{"BitShift", 20, with("direction", std::string("RIGHT"))};
  CHECK(values<std::uint8_t>(left({list<std::uint8_t>({1, 255, 3}), list<std::uint8_t>({7, 8, 200})})[0]) ==
        std::vector<std::uint8_t>{128, 0, 0});
  CHECK(values<std::uint64_t>(right({list<std::uint64_t>({16, ~0ull}), list<std::uint64_t>({2, 64})})[0]) ==
        std::vector<std::uint64_t>{4, 0});
  CHECK(values<std::int8_t>(right({list<std::int8_t>({-8, -8, 8}), list<std::int8_t>({1, 9, -1})})[0]) ==
        std::vector<std::int8_t>{-4, -1, 0});
  CHECK_THROWS_AS(Node{"BitShift"}({list<std::uint8_t>({1}), list<std::uint8_t>({1})}), InputError);
}

TEST_CASE("NaN goes through maxima, clips and reductions") {
  CHECK(std::isnan(values<float>(Node{"Max"}({list<float>({nan}), list<float>({1})})[0])[0]));
  CHECK(std::isnan(values<float>(Node{"Min"}({list<float>({1}), list<float>({nan})})[0])[0]));
  CHECK(std::isnan(values<float>(Node{"Relu"}({list<float>({nan})})[0])[0]));
  // As ONNX defines them: what neither condition holds for is 0.
  CHECK(values<float>(Node{"ThresholdedRelu"}({list<float>({nan})})[0]) == std::vector<float>{0});
  CHECK(values<float>(Node{"Shrink"}({list<float>({nan})})[0]) == std::vector<float>{0});
  CHECK(std::isnan(values<float>(Node{"ReduceMax"}({list<float>({1, nan, 3})})[0])[0]));
  CHECK(values<std::int64_t>(Node{"ArgMax"}({list<float>({1, nan, 3, nan})})[0]) == std::vector<std::int64_t>{1});
  CHECK(values<bool>(Node{"Equal"}({list<float>({nan}), list<float>({nan})})[0]) == std::vector<bool>{false});
}

TEST_CASE("rounding is half to even, and halves round once") {
  CHECK(values<float>(Node{"Round"}({list<float>({0.5F, 1.5F, 2.5F, -2.5F, -0.4F})})[0]) ==
        std::vector<float>{0, 2, 2, -2, -0.0F});
  const Array halves = list<float>({2048, 1}).cast(ElementType::float16);
  const Array sum = Node{"ReduceSum"}({halves})[0];
  CHECK(sum.type() == ElementType::float16);
  CHECK(sum.doubles() == std::vector<double>{2048});  // 2049 lies between two half numbers; the even one wins
}

TEST_CASE("operands broadcast") {
  const Array column = Array::of<float>({2, 1}, {1, 2}), row = Array::of<float>({3}, {10, 20, 30});
  const Array sum = Node{"Add"}({column, row})[0];
  CHECK(sum.extents() == Extents{2, 3});
  CHECK(values<float>(sum) == std::vector<float>{11, 21, 31, 12, 22, 32});
  const Array chosen = Node{"Where"}({Array::of<bool>({2, 1}, {true, false}), row, Array::scalar(0.0F)})[0];
  CHECK(values<float>(chosen) == std::vector<float>{10, 20, 30, 0, 0, 0});
  CHECK(Node{"Add"}({Array(ElementType::float32, {0, 1}), row})[0].extents() == Extents{0, 3});
  CHECK_THROWS_AS(Node{"Add"}({Array::of<float>({2}, {1, 2}), row}), InputError);
}

TEST_CASE("powers keep the type of the base") {
  CHECK(values<std::int32_t>(Node{"Pow"}({list<std::int32_t>({3, -1, 2}), list<std::int64_t>({4, -3, -1})})[0]) ==
        std::vector<std::int32_t>{81, -1, 0});
  CHECK(values<float>(Node{"Pow"}({list<float>({2, 9}), list<std::int32_t>({-1, 2})})[0]) ==
        std::vector<float>{0.5F, 81});
  CHECK(values<std::int64_t>(Node{"Pow"}({list<std::int64_t>({4}), list<float>({0.5F})})[0]) ==
        std::vector<std::int64_t>{2});
}

TEST_CASE("softmax flattened before opset 13") {
  const Array in = Array::of<float>({1, 2, 2}, {0, 0, 0, 0});
  CHECK(values<float>(Node{"Softmax", 11}({in})[0]) == std::vector<float>(4, 0.25F));
  CHECK(values<float>(Node{"Softmax", 13}({in})[0]) == std::vector<float>(4, 0.5F));
  CHECK(values<float>(Node{"Softmax", 13}({list<float>({1000, 0})})[0]) == std::vector<float>{1, 0});
  CHECK_THROWS_AS((Node{"Softmax", 13, with("axis", std::int64_t{3})}({in})), InputError);
}

TEST_CASE("reductions of nothing, of everything, and of no axis") {
  const Array none(ElementType::float32, {2, 0});
  const Array axis = list<std::int64_t>({1});
  const Node maximum{"ReduceMax", 20, with("keepdims", std::int64_t{0})};
  CHECK(values<float>(maximum({none, axis})[0]) == std::vector<float>(2, -infinity));
  CHECK(values<float>(Node{"ReduceProd", 18}({none, axis})[0]) == std::vector<float>(2, 1));
  CHECK(values<float>(Node{"ReduceLogSumExp", 18}({list<float>({1000, 1000})})[0])[0] == Approx(1000.693F));
  const Node squares{"ReduceSumSquare", 18, with("noop_with_empty_axes", std::int64_t{1})};
  CHECK(values<float>(squares({list<float>({2, 3})})[0]) == std::vector<float>{4, 9});
  const Node old{"ReduceSum", 11, with("axes", std::vector<std::int64_t>{0})};
  CHECK(values<float>(old({Array::of<float>({2, 2}, {1, 2, 3, 4})})[0]) == std::vector<float>{4, 6});
  CHECK_THROWS_AS(Node{"ArgMax"}({Array(ElementType::float32, {0})}), InputError);
}

TEST_CASE("the largest come first, equals in order") {
  Node top{"TopK", 11, {}, 2};
  auto results = top({list<float>({1, 3, nan, 3}), list<std::int64_t>({3})});
  CHECK(values<std::int64_t>(results[1]) == std::vector<std::int64_t>{2, 1, 3});
  CHECK_THROWS_AS(top({list<float>({1}), list<std::int64_t>({2})}), InputError);
  CHECK_THROWS_AS(top({list<float>({1}), list<std::int64_t>({-1})}), InputError);
}

TEST_CASE("bounds of Clip: attributes, operands, or none") {
  const Array in = list<float>({-5, 0, 5});
  Attributes bounds = with("min", -1.0);
  bounds.set("max", 1.0);
  CHECK(values<float>(Node{"Clip", 6, bounds}({in})[0]) == std::vector<float>{-1, 0, 1});
  CHECK(values<float>(Node{"Clip", 13}({in, std::nullopt, Array::scalar(1.0F)})[0]) == std::vector<float>{-5, 0, 1});
  CHECK(values<std::int8_t>(Node{"Clip", 13}({list<std::int8_t>({-5, 5}), Array::scalar(std::int8_t{0})})[0]) ==
        std::vector<std::int8_t>{0, 5});
  CHECK_THROWS_AS((Node{"Clip", 13}({in, Array::scalar(1.0)})), InputError);
}

TEST_CASE("quantisation rounds to even and saturates") {
  const Array scale = Array::scalar(2.0F), zero = Array::scalar(std::uint8_t{128});
  CHECK(values<std::uint8_t>(Node{"QuantizeLinear"}({list<float>({0, 3, 5, 1000, -1000, nan}), scale, zero})[0]) ==
        std::vector<std::uint8_t>{128, 130, 130, 255, 0, 0});
  Attributes blocks = with("axis", std::int64_t{0});
  blocks.set("block_size", std::int64_t{2});
  CHECK(values<float>(Node{"DequantizeLinear", 21, blocks}(
            {list<std::int8_t>({1, 2, 3}), list<float>({10, 100}), list<std::int8_t>({0, 1})})[0]) ==
        std::vector<float>{10, 20, 200});
  CHECK_THROWS_AS(Node{"DequantizeLinear"}({list<std::int8_t>({1, 2}), list<float>({1, 2, 3})}), InputError);
}

TEST_CASE("matrices of any rank, and sums over names") {
  const Array matrix = Array::of<std::int32_t>({2, 2}, {1, 2, 3, 4}), vector = list<std::int32_t>({1, 1});
  CHECK(values<std::int32_t>(Node{"MatMul"}({matrix, vector})[0]) == std::vector<std::int32_t>{3, 7});
  CHECK(Node{"MatMul"}({vector, vector})[0].extents().empty());
  const Node trace{"Einsum", 12, with("equation", std::string("ii"))};
  CHECK(values<std::int32_t>(trace({matrix})[0]) == std::vector<std::int32_t>{5});
  const Node batched{"Einsum", 12, with("equation", std::string("...ij,...jk->...ik"))};
  CHECK(values<std::int32_t>(batched({matrix, matrix})[0]) == std::vector<std::int32_t>{7, 10, 15, 22});
  for (const char* bad : {"ij,jk->ik->", "i", "ij->k", "i1", "ij->ii", "...", "......", "", "->", ","})
    CHECK_THROWS_AS((Node{"Einsum", 12, with("equation", std::string(bad))}({vector, matrix, vector})), InputError);
}

TEST_CASE("operands that do not fit are the model's mistake") {
  const Array some = list<float>({1, 2, 3});
  for (const std::string_view name : host_functions()) {
    INFO(name);
    const HostFunction function = find_host_function("", name);
    for (const std::int64_t opset : {7, 11, 13, 20})
      for (const ElementType type : {ElementType::float32, ElementType::int64, ElementType::boolean})
        for (const std::size_t operands : {0, 1, 2, 3, 8})
          for (const Extents& extents : {Extents{}, Extents{0}, Extents{3}, Extents{2, 3}, Extents{0, 2}}) {
            Array zeros(type, extents);
            std::fill_n(zeros.mutable_data(), zeros.bytes(), std::byte{0});
            const Attributes attributes;
            const HostCall call{name, opset, attributes, std::vector<std::optional<Array>>(operands, zeros), 1};
            try {
              function(call);
            } catch (const InputError&) {
            }
          }
  }
  CHECK_THROWS_AS(Node{"Add"}({some}), InputError);
  CHECK_THROWS_AS(Node{"Add"}({some, list<double>({1, 2, 3})}), InputError);
  CHECK_THROWS_AS(Node{"Sin"}({list<std::int32_t>({1})}), InputError);
  CHECK_THROWS_AS((Node{"Cast", 20, with("to", std::int64_t{8})}({some})), InputError);
  CHECK_THROWS_AS((Node{"Elu", 20, with("alpha", std::string("x"))}({some})), InputError);
  CHECK_THROWS_AS((Node{"NegativeLogLikelihoodLoss"}({Array::of<float>({1, 2}, {0, 0}), list<std::int64_t>({2})})),
                  InputError);
}

}  // namespace
}  // namespace taso::test
