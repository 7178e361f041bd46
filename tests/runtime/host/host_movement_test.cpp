#include <limits>

#include "runtime/host/host.h"
#include "tests/catch.h"

namespace taso::test {

using namespace runtime;

namespace {

using Operands = std::vector<std::optional<Array>>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

Attributes with(std::initializer_list<std::pair<const char*, Attributes::Attribute>> values) {
  Attributes attributes;
  for (const auto& [name, value] : values) attributes.set(name, value);
  return attributes;
}

std::vector<Array> run(std::string_view op_type, Operands operands, const Attributes& attributes = {},
                       std::int64_t opset = 21, std::size_t outputs = 1) {
  const HostFunction function = find_host_function("", op_type);
  REQUIRE(function != nullptr);
  return function(HostCall{op_type, opset, attributes, std::move(operands), outputs});
}

Array list(const Integers& values) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Array floats(Extents extents, const std::vector<float>& values) { return Array::of<float>(std::move(extents), values); }
Array counting(Extents extents) {
  std::vector<float> values(static_cast<std::size_t>(count(extents)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Array::of<float>(std::move(extents), values);
}
Array empty(Extents extents) { return Array(ElementType::float32, std::move(extents)); }

void check_floats(const Array& array, const Extents& extents, const std::vector<double>& values) {
  CHECK(array.extents() == extents);
  REQUIRE(array.size() == static_cast<std::int64_t>(values.size()));
  const std::vector<double> got = array.doubles();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(got[i] == Approx(values[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("a host function is found by its operator's name and domain") {
  CHECK(find_host_function("", "Gather") != nullptr);
  CHECK(find_host_function("ai.onnx", "Gather") == find_host_function("", "Gather"));
  CHECK(find_host_function("com.example", "Gather") == nullptr);
  CHECK(find_host_function("", "NoSuchOperator") == nullptr);
}

TEST_CASE("an operand that is missing is the model's mistake") {
  for (const char* name :
       {"Shape", "Gather", "Concat", "Slice", "Pad", "Resize", "LSTM", "ConvTranspose", "Attention"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(run(name, {}), InputError);
    CHECK_THROWS_AS(run(name, {std::nullopt}), InputError);
  }
  CHECK_THROWS_AS(run("Gather", {counting({3})}), InputError);
  CHECK_THROWS_AS(run("Concat", {counting({3}), std::nullopt}, with({{"axis", std::int64_t{0}}})), InputError);
}

TEST_CASE("axes out of range are refused") {
  const Array x = counting({2, 3});
  for (const std::int64_t axis : {std::int64_t{2}, std::int64_t{-3}, huge, least}) {
    CAPTURE(axis);
    CHECK_THROWS_AS(run("Gather", {x, list({0})}, with({{"axis", axis}})), InputError);
    CHECK_THROWS_AS(run("GatherElements", {x, Array::of<std::int64_t>({1, 1}, {0})}, with({{"axis", axis}})),
                    InputError);
    CHECK_THROWS_AS(run("Concat", {x, x}, with({{"axis", axis}})), InputError);
    CHECK_THROWS_AS(run("Split", {x}, with({{"axis", axis}}), 13, 1), InputError);
    CHECK_THROWS_AS(run("Squeeze", {x, list({axis})}), InputError);
    CHECK_THROWS_AS(run("Slice", {x, list({0}), list({1}), list({axis})}), InputError);
    CHECK_THROWS_AS(run("Unique", {x}, with({{"axis", axis}})), InputError);
    CHECK_THROWS_AS(run("LayerNormalization", {x, counting({3})}, with({{"axis", axis}})), InputError);
  }
  CHECK_THROWS_AS(run("Unsqueeze", {x, list({4})}), InputError);
  CHECK_THROWS_AS(run("Unsqueeze", {x, list({0, 0})}), InputError);
  CHECK_THROWS_AS(run("Squeeze", {x, list({0})}), InputError);  // not of extent 1
  CHECK_THROWS_AS(run("Flatten", {x}, with({{"axis", std::int64_t{3}}})), InputError);
  CHECK_THROWS_AS(run("Transpose", {x}, with({{"perm", Integers{0, 0}}})), InputError);
  CHECK_THROWS_AS(run("Transpose", {x}, with({{"perm", Integers{0}}})), InputError);
}

TEST_CASE("indices out of range are refused, negative ones count from the back") {
  const Array x = counting({3, 2});
  check_floats(run("Gather", {x, list({-1, 0})})[0], {2, 2}, {4, 5, 0, 1});
  for (const std::int64_t index : {std::int64_t{3}, std::int64_t{-4}, huge, least}) {
    CAPTURE(index);
    CHECK_THROWS_AS(run("Gather", {x, list({index})}), InputError);
    CHECK_THROWS_AS(run("GatherElements", {x, Array::of<std::int64_t>({1, 2}, {0, index})}), InputError);
    CHECK_THROWS_AS(run("GatherND", {x, Array::of<std::int64_t>({1, 1}, {index})}), InputError);
    CHECK_THROWS_AS(run("ScatterND", {x, Array::of<std::int64_t>({1, 1}, {index}), counting({1, 2})}), InputError);
    CHECK_THROWS_AS(run("ScatterElements", {x, Array::of<std::int64_t>({1, 1}, {index}), counting({1, 1})}),
                    InputError);
  }
  CHECK_THROWS_AS(run("Gather", {x, counting({1})}), InputError);  // indices that are not integers
  CHECK_THROWS_AS(run("GatherElements", {x, Array::of<std::int64_t>({1, 3}, {0, 0, 0})}), InputError);
  CHECK_THROWS_AS(run("GatherND", {x, Array::of<std::int64_t>({1, 3}, {0, 0, 0})}), InputError);
  CHECK_THROWS_AS(
      run("Compress", {x, Array::of<bool>({4}, {false, false, false, true})}, with({{"axis", std::int64_t{0}}})),
      InputError);
}

TEST_CASE("results of enormous or negative size are refused") {
  CHECK_THROWS_AS(run("ConstantOfShape", {list({huge, huge})}), InputError);
  CHECK_THROWS_AS(run("ConstantOfShape", {list({std::int64_t{1} << 41})}), InputError);
  CHECK_THROWS_AS(run("ConstantOfShape", {list({-1})}), InputError);
  CHECK_THROWS_AS(run("Expand", {counting({1}), list({huge, huge})}), InputError);
  CHECK_THROWS_AS(run("Expand", {counting({1}), list({-2})}), InputError);
  CHECK_THROWS_AS(run("Tile", {counting({2}), list({huge})}), InputError);
  CHECK_THROWS_AS(run("Tile", {counting({2}), list({-1})}), InputError);
  CHECK_THROWS_AS(run("Range", {Array::scalar<std::int64_t>(least), Array::scalar<std::int64_t>(huge),
                                Array::scalar<std::int64_t>(1)}),
                  InputError);
  CHECK_THROWS_AS(run("Range", {Array::scalar<float>(0), Array::scalar<float>(1), Array::scalar<float>(0)}),
                  InputError);
  CHECK_THROWS_AS(run("Range", {Array::scalar<float>(0), Array::scalar<float>(1e30F), Array::scalar<float>(1)}),
                  InputError);
  CHECK_THROWS_AS(run("Pad", {counting({2}), list({huge, huge})}), InputError);
  CHECK_THROWS_AS(run("Pad", {counting({2}), list({-3, 0})}), InputError);
  CHECK_THROWS_AS(run("OneHot", {list({0}), Array::scalar<std::int64_t>(huge), counting({2})}), InputError);
  CHECK_THROWS_AS(run("Resize", {counting({1, 1, 2, 2}), std::nullopt, floats({4}, {1, 1, 1e30F, 1})}), InputError);
  CHECK_THROWS_AS(run("HannWindow", {Array::scalar<std::int64_t>(huge)}), InputError);
}

TEST_CASE("shapes that do not fit are refused") {
  CHECK_THROWS_AS(run("Reshape", {counting({6}), list({4})}), InputError);
  CHECK_THROWS_AS(run("Reshape", {counting({6}), list({-1, 4})}), InputError);
  CHECK_THROWS_AS(run("Reshape", {counting({6}), list({-1, -1})}), InputError);
  CHECK_THROWS_AS(run("Reshape", {counting({6}), list({6, 0})}), InputError);
  CHECK_THROWS_AS(run("Reshape", {counting({6}), list({-2, -3})}), InputError);
  CHECK_THROWS_AS(run("Reshape", {counting({6}), counting({1})}), InputError);
  CHECK_THROWS_AS(run("Concat", {counting({2, 3}), counting({2, 2})}, with({{"axis", std::int64_t{0}}})), InputError);
  CHECK_THROWS_AS(run("Concat", {counting({2}), list({1})}, with({{"axis", std::int64_t{0}}})), InputError);
  CHECK_THROWS_AS(run("Split", {counting({4}), list({1, 2})}), InputError);
  CHECK_THROWS_AS(run("Split", {counting({4}), list({5, -1})}, {}, 13, 2), InputError);
  CHECK_THROWS_AS(run("Split", {counting({5})}, {}, 13, 2), InputError);
  CHECK_THROWS_AS(run("Slice", {counting({4}), list({0}), list({1, 2})}), InputError);
  CHECK_THROWS_AS(run("Slice", {counting({4}), list({0}), list({2}), list({0}), list({0})}), InputError);
  CHECK_THROWS_AS(run("DepthToSpace", {counting({1, 3, 2, 2})}, with({{"blocksize", std::int64_t{2}}})), InputError);
  CHECK_THROWS_AS(run("SpaceToDepth", {counting({1, 1, 3, 2})}, with({{"blocksize", std::int64_t{2}}})), InputError);
  CHECK_THROWS_AS(run("SpaceToDepth", {counting({1, 1, 2, 2})}, with({{"blocksize", std::int64_t{0}}})), InputError);
  CHECK_THROWS_AS(run("MaxPool", {counting({1, 1, 2, 2})}, with({{"kernel_shape", Integers{3, 3}}})), InputError);
  CHECK_THROWS_AS(run("MaxPool", {counting({1, 1, 2, 2})}, with({{"kernel_shape", Integers{2}}})), InputError);
  CHECK_THROWS_AS(
      run("MaxPool", {counting({1, 1, 2})}, with({{"kernel_shape", Integers{1}}, {"strides", Integers{0}}})),
      InputError);
  CHECK_THROWS_AS(run("ScatterND", {counting({2}), Array::of<std::int64_t>({1, 1}, {0}), counting({2})}), InputError);
  CHECK_THROWS_AS(run("ConvTranspose", {counting({1, 2, 2, 2}), counting({3, 1, 1, 1})}), InputError);
  CHECK_THROWS_AS(
      run("BatchNormalization", {counting({1, 2}), counting({3}), counting({2}), counting({2}), counting({2})}),
      InputError);
}

TEST_CASE("attributes of the wrong kind or of an unknown value are refused") {
  CHECK_THROWS_AS(run("Gather", {counting({2}), list({0})}, with({{"axis", std::string("0")}})), InputError);
  CHECK_THROWS_AS(run("Pad", {counting({2}), list({1, 1})}, with({{"mode", std::string("mirror")}})), InputError);
  CHECK_THROWS_AS(
      run("ScatterElements", {counting({2}), list({0}), counting({1})}, with({{"reduction", std::string("div")}})),
      InputError);
  CHECK_THROWS_AS(run("EyeLike", {counting({2, 2})}, with({{"dtype", std::int64_t{8}}})), InputError);
  CHECK_THROWS_AS(run("EyeLike", {counting({2, 2})}, with({{"dtype", huge}})), InputError);
}

TEST_CASE("empty tensors move like any others") {
  CHECK(run("Transpose", {empty({2, 0, 3})})[0].extents() == Extents{3, 0, 2});
  CHECK(run("Concat", {empty({0, 3}), counting({1, 3})}, with({{"axis", std::int64_t{0}}}))[0].extents() ==
        Extents{1, 3});
  CHECK(run("Slice", {empty({0, 3}), list({0}), list({5}), list({0}), list({-1})})[0].extents() == Extents{0, 3});
  CHECK(run("Gather", {empty({0, 3}), list({})})[0].extents() == Extents{0, 3});
  CHECK_THROWS_AS(run("Gather", {empty({0, 3}), list({0})}), InputError);
  CHECK(run("Tile", {empty({0}), list({3})})[0].extents() == Extents{0});
  CHECK(run("Tile", {counting({2}), list({0})})[0].extents() == Extents{0});
  CHECK(run("Expand", {empty({0, 1}), list({0, 4})})[0].extents() == Extents{0, 4});
  CHECK(run("NonZero", {empty({0, 3})})[0].extents() == Extents{2, 0});
  CHECK(run("Unique", {empty({0})}, {}, 11, 4)[3].extents() == Extents{0});
  check_floats(run("Pad", {empty({0}), list({1, 1}), Array::scalar<float>(7)})[0], {2}, {7, 7});
  CHECK_THROWS_AS(run("Pad", {empty({0}), list({1, 1})}, with({{"mode", std::string("edge")}})), InputError);
  CHECK(run("Reshape", {empty({0, 3}), list({3, 0})}, with({{"allowzero", std::int64_t{1}}}))[0].extents() ==
        Extents{3, 0});
  CHECK(run("Reshape", {empty({0, 3}), list({0, -1})})[0].extents() == Extents{0, 0});
  CHECK(run("Split", {empty({0})}, {}, 13, 2)[1].extents() == Extents{0});
  CHECK(run("GlobalMaxPool", {empty({0, 2, 3})})[0].extents() == Extents{0, 2, 1});
  CHECK(run("ScatterND", {counting({2}), Array(ElementType::int64, {0, 1}), empty({0})})[0].extents() == Extents{2});
}

TEST_CASE("a slice clamps its ends and may run backwards") {
  const Array x = counting({5});
  check_floats(run("Slice", {x, list({1}), list({huge})})[0], {4}, {1, 2, 3, 4});
  check_floats(run("Slice", {x, list({huge}), list({least}), list({0}), list({-2})})[0], {3}, {4, 2, 0});
  check_floats(run("Slice", {x, list({0}), list({5}), list({0}), list({huge})})[0], {1}, {0});
  check_floats(run("Slice", {x, list({4}), list({least}), list({0}), list({least})})[0], {1}, {4});
  CHECK(run("Slice", {x, list({3}), list({1})})[0].extents() == Extents{0});
  for (const std::int64_t end : {huge, std::int64_t{std::numeric_limits<std::int32_t>::max()}})
    CHECK_THROWS_AS(run("Slice", {x, list({3}), list({end}), list({0}), list({-1})}), InputError);
  check_floats(run("Slice", {x}, with({{"starts", Integers{-2}}, {"ends", Integers{5}}}), 9)[0], {2}, {3, 4});
}

TEST_CASE("padding grows, shrinks, reflects and wraps") {
  const Array x = counting({3});
  check_floats(run("Pad", {x, list({-1, 2}), Array::scalar<float>(9)})[0], {4}, {1, 2, 9, 9});
  check_floats(run("Pad", {x, list({3, 3})}, with({{"mode", std::string("reflect")}}))[0], {9},
               {1, 2, 1, 0, 1, 2, 1, 0, 1});
  check_floats(run("Pad", {x, list({2, 1})}, with({{"mode", std::string("wrap")}}))[0], {6}, {1, 2, 0, 1, 2, 0});
  check_floats(run("Pad", {x}, with({{"pads", Integers{1, 0}}, {"value", 0.5}}), 10)[0], {4}, {0.5, 0, 1, 2});
}

TEST_CASE("a transpose of every element size is the same permutation") {
  const Array x = counting({3, 70, 5});
  const Attributes perm = with({{"perm", Integers{2, 0, 1}}});
  const std::vector<double> expected = run("Transpose", {x}, perm)[0].doubles();
  CHECK(expected[1 * 210 + 2 * 70 + 69] == (2 * 70 + 69) * 5 + 1);
  for (const ElementType type : {ElementType::int16, ElementType::int32, ElementType::int64, ElementType::float64})
    CHECK(run("Transpose", {x.cast(type)}, perm)[0].doubles() == expected);
}

TEST_CASE("splits follow the rules of their opset") {
  const Array x = counting({5});
  CHECK(run("Split", {x}, with({{"split", Integers{2, 3}}}), 11, 2)[1].extents() == Extents{3});
  const auto parts = run("Split", {x}, with({{"num_outputs", std::int64_t{2}}}), 18, 2);
  check_floats(parts[0], {3}, {0, 1, 2});
  check_floats(parts[1], {2}, {3, 4});
}

TEST_CASE("scatters reduce in order and keep NaN") {
  const Array x = floats({2}, {1, std::numeric_limits<float>::quiet_NaN()});
  const auto scatter = [&](const char* reduction) {
    return run("ScatterElements", {x, list({0, 0, 1}), floats({3}, {2, 5, 7})},
               with({{"reduction", std::string(reduction)}}), 18)[0]
        .doubles();
  };
  CHECK(scatter("none") == std::vector<double>{5, 7});
  CHECK(scatter("add")[0] == 8);
  CHECK(scatter("mul")[0] == 10);
  CHECK(scatter("max")[0] == 5);
  CHECK(scatter("max")[1] != scatter("max")[1]);
}

TEST_CASE("unique sorts NaN last and counts it once") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto results = run("Unique", {floats({5}, {nan, 2, nan, 1, 2})}, {}, 11, 4);
  CHECK(results[0].extents() == Extents{3});
  CHECK(results[1].integers() == Integers{3, 1, 0});
  CHECK(results[2].integers() == Integers{2, 1, 2, 0, 1});
  CHECK(results[3].integers() == Integers{1, 2, 2});
}

TEST_CASE("half types compute in float and round at the end") {
  const Array x = counting({1, 1, 4}).cast(ElementType::float16);
  const Array pooled = run("AveragePool", {x}, with({{"kernel_shape", Integers{4}}}))[0];
  CHECK(pooled.type() == ElementType::float16);
  CHECK(pooled.doubles() == std::vector<double>{1.5});
  const auto normal = run("LayerNormalization", {x, floats({4}, {1, 1, 1, 1}).cast(ElementType::float16)}, {}, 17, 3);
  CHECK(normal[0].type() == ElementType::float16);
  CHECK(normal[1].type() == ElementType::float32);
  CHECK(normal[1].doubles() == std::vector<double>{1.5});
}

TEST_CASE("ranges count in any type without overflow") {
  const auto range = [](auto start, auto limit, auto delta) {
    return run("Range", {Array::scalar(start), Array::scalar(limit), Array::scalar(delta)})[0];
  };
  CHECK(range(std::int64_t{10}, std::int64_t{4}, std::int64_t{-2}).integers() == Integers{10, 8, 6});
  CHECK(range(std::int64_t{1}, std::int64_t{1}, std::int64_t{1}).size() == 0);
  CHECK(range(least, huge, huge).integers() == Integers{least, -1, huge - 1});
  CHECK(range(1.0F, 2.0F, 0.25F).doubles() == std::vector<double>{1, 1.25, 1.5, 1.75});
}

TEST_CASE("windows and their corners") {
  const Array x = counting({1, 1, 3, 3});
  const auto pooled =
      run("MaxPool", {x}, with({{"kernel_shape", Integers{2, 2}}, {"storage_order", std::int64_t{1}}}), 12, 2);
  check_floats(pooled[0], {1, 1, 2, 2}, {4, 5, 7, 8});
  CHECK(pooled[1].integers() == Integers{4, 7, 5, 8});
  check_floats(run("Resize", {x, std::nullopt, std::nullopt, list({1, 1, 1, 1})})[0], {1, 1, 1, 1}, {4});
  check_floats(run("ConvTranspose", {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {1, 10})},
                   with({{"strides", Integers{2}}, {"dilations", Integers{3}}}))[0],
               {1, 1, 6}, {1, 0, 2, 10, 0, 20});
}

}  // namespace taso::test
