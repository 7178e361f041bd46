// The operators that an ONNX node is lowered to compute the same as its plain function.
#include "onnx/lowering/lowering.h"

#include <fmt/ranges.h>

#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operands = std::vector<std::optional<Array>>;
using Integers = std::vector<std::int64_t>;

runtime::Attributes with(std::initializer_list<std::pair<const char*, runtime::Attributes::Attribute>> values) {
  runtime::Attributes attributes;
  for (const auto& [name, value] : values) attributes.set(name, value);
  return attributes;
}
Array list(const Integers& values) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Array floats(const Extents& extents, const std::vector<float>& values) { return Array::of<float>(extents, values); }

/// The result through operators of taso, with all operands but the first known in advance; nothing if they do not cover
/// it.
std::optional<Array> lowered(std::string_view op_type, std::int64_t opset, const runtime::Attributes& attributes,
                             const Operands& operands) {
  Graph graph{std::make_shared<Pool>(), {}, {}};
  LoweringCall call{*graph.pool, op_type, opset, attributes, {}, {}, 1};
  std::vector<runtime::Fact> facts(operands.size());
  std::vector<Array> given;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    call.inputs.emplace_back();
    call.facts.push_back(nullptr);
    if (!operands[i]) continue;
    facts[i].type = {operands[i]->type(), shape_of(operands[i]->extents())};
    if (i > 0) facts[i].constant = operands[i];
    call.inputs[i] = graph.pool->input(std::to_string(i), facts[i].type);
    call.facts[i] = &facts[i];
    graph.inputs.push_back(call.inputs[i]);
    given.push_back(*operands[i]);
  }
  const Lowered values = lower(call);
  if (!values) return std::nullopt;
  graph.outputs = *values;
  return runtime::interpret(graph, given).at(0);
}

/// Whether it is covered; if so, it must be correct, up to the order of sums if it `sums`.
bool is_covered(std::string_view op_type, std::int64_t opset, const runtime::Attributes& attributes,
                const Operands& operands, bool sums = false) {
  const std::optional<Array> found = lowered(op_type, opset, attributes, operands);
  if (!found) return false;
  const Array expected =
      runtime::find_host_function("", op_type)(runtime::HostCall{op_type, opset, attributes, operands, 1}).at(0);
  REQUIRE(found->type() == expected.type());
  REQUIRE(found->extents() == expected.extents());
  const std::vector<double> a = found->doubles(), b = expected.doubles();
  if (!sums) REQUIRE(a == b);
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == Approx(b[i]).margin(1e-5));
  return true;
}

}  // namespace

TEST_CASE("slices with steps") {
  Random random(1);
  int covered = 0;
  for (int i = 0; i < 400; ++i) {
    const Array x = random_array(random, ElementType::float32, {random.between(1, 9), random.between(1, 9), 3});
    const Integers starts{random.between(-10, 10), random.between(-10, 10)};
    const Integers ends{random.between(-10, 10), random.chance(0.5) ? INT64_MAX : random.between(-10, 10)};
    const Integers axes = random.chance(0.5) ? Integers{0, 1} : Integers{1, 0};
    const Integers steps{random.between(1, 4), random.chance(0.1) ? INT64_MAX : random.between(1, 4)};
    INFO(fmt::format("{} from {} to {} along {} by {}", x.extents(), starts, ends, axes, steps));
    covered += is_covered("Slice", 13, {}, {x, list(starts), list(ends), list(axes), list(steps)}) ? 1 : 0;
  }
  CHECK(covered > 100);
  const Array row = random_array(random, ElementType::int32, {8});
  CHECK(is_covered("Slice", 10, {}, {row, list({0}), list({8}), list({0}), list({2})}));
  CHECK(is_covered("Slice", 10, {}, {row, list({1}), list({8}), list({0}), list({2})}));
  CHECK(is_covered("Slice", 10, {}, {row, list({2}), list({8}), list({0}), list({4})}));
  CHECK(is_covered("Slice", 10, {}, {row, list({2}), list({7}), list({0}), list({3})}));
  CHECK_FALSE(is_covered("Slice", 10, {}, {row, list({0}), list({8}), list({0}), list({3})}));  // uneven
  CHECK_FALSE(is_covered("Slice", 10, {}, {row, list({7}), list({0}), list({0}), list({-2})}));
}

TEST_CASE("known indices that follow one another gather a block") {
  Random random(5);
  const Array x = random_array(random, ElementType::float32, {4, 5, 3});
  const auto along = [](std::int64_t axis) { return with({{"axis", axis}}); };
  const auto index = [](std::int64_t value) { return Array::of<std::int64_t>({}, Integers{value}); };
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const std::int64_t size = x.extents()[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
    for (std::int64_t first = -size; first < size; ++first) {
      INFO(fmt::format("axis {}, from {}", axis, first));
      CHECK(is_covered("Gather", 13, along(axis), {x, index(first)}));
      for (std::int64_t last = first; last < (first < 0 ? 0 : size); ++last) {
        Integers all;
        for (std::int64_t i = first; i <= last; ++i) all.push_back(i);
        CHECK(is_covered("Gather", 13, along(axis), {x, list(all)}));
      }
    }
    CHECK_FALSE(lowered("Gather", 13, along(axis), {x, index(size)}));
    CHECK_FALSE(lowered("Gather", 13, along(axis), {x, index(-size - 1)}));
  }
  CHECK_FALSE(lowered("Gather", 13, along(1), {x, list({0, 2})}));
  CHECK_FALSE(lowered("Gather", 13, along(1), {x, list({2, 1})}));
  CHECK_FALSE(lowered("Gather", 13, along(1), {x, list({-1, 0})}));  // around the end
  CHECK_FALSE(lowered("Gather", 13, along(1), {x, list({})}));
  CHECK_FALSE(lowered("Gather", 13, along(1), {x, Array::of<std::int64_t>({1, 2}, Integers{0, 1})}));
  CHECK_FALSE(lowered("Gather", 13, along(0), {list({7, 8}), index(1)}));  // shapes
}

TEST_CASE("indices of an open axis gather a block if they always exist") {
  const auto gathered = [](std::int64_t value) {
    Pool pool;
    const auto attributes = with({{"axis", std::int64_t{1}}});
    const Type type{ElementType::float32, Shape{Dim(2), Dim::symbol("tokens"), Dim(3)}};
    const runtime::Fact whole{type, std::nullopt, std::nullopt};
    const runtime::Fact index{Type{ElementType::int64, Shape{}}, std::nullopt,
                              Array::of<std::int64_t>({}, Integers{value})};
    const LoweringCall call{
        pool, "Gather", 13, attributes, {pool.input("x", type), pool.input("i", index.type)}, {&whole, &index}, 1};
    const Lowered values = lower(call);
    return values && values->at(0).shape() == Shape{Dim(2), Dim(3)};
  };
  CHECK(gathered(0));
  CHECK(gathered(-1));
  CHECK_FALSE(gathered(1));  // there may be one token only
  CHECK_FALSE(gathered(-2));
}

TEST_CASE("resizing to the nearest position") {
  Random random(2);
  int covered = 0, tried = 0;
  for (const char* places : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"})
    for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      for (const float down : {1.0F, 2.0F, 3.0F, 4.0F})
        for (const float across : {1.0F, 2.0F, 5.0F, 1.5F}) {
          INFO(places << " " << nearest << " " << down << " " << across);
          const Array x =
              random_array(random, ElementType::float32, {1, 2, random.between(1, 5), random.between(1, 5)});
          const runtime::Attributes manner =
              with({{"coordinate_transformation_mode", std::string(places)}, {"nearest_mode", std::string(nearest)}});
          ++tried;
          covered += is_covered("Resize", 13, manner, {x, std::nullopt, floats({4}, {1, 1, down, across})}) ? 1 : 0;
        }
  CHECK(covered >= tried / 5);
  const Array x = random_array(random, ElementType::float16, {1, 2, 3, 4});
  const runtime::Attributes floor =
      with({{"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}});
  CHECK(is_covered("Resize", 11, floor, {x, floats({0}, {}), floats({4}, {1, 1, 2, 2})}));
  CHECK(is_covered("Resize", 13, floor, {x, std::nullopt, std::nullopt, list({1, 2, 9, 4})}));
  CHECK(is_covered("Resize", 10, {}, {x, floats({4}, {1, 3, 2, 1})}));
  CHECK(is_covered("Upsample", 9, {}, {x, floats({4}, {1, 1, 2, 2})}));
  CHECK(is_covered("Upsample", 7, with({{"scales", std::vector<double>{1, 1, 3, 2}}}), {x}));
  CHECK(is_covered("Resize", 18, with({{"axes", Integers{3}}}), {x, std::nullopt, floats({1}, {3})}));
  CHECK_FALSE(is_covered("Upsample", 7, with({{"scales", std::vector<double>{2, 2}}}), {x}));
  CHECK_FALSE(
      is_covered("Resize", 13, with({{"mode", std::string("linear")}}), {x, std::nullopt, floats({4}, {1, 1, 2, 2})}));
}

TEST_CASE("transposed convolutions with every way to give their pads") {
  Random random(3);
  const auto whole = [&](const Extents& extents) {  // numbers whose sums are exact
    std::vector<float> values;
    for (std::int64_t i = ops::count(extents); i > 0; --i) values.push_back(static_cast<float>(random.between(-9, 9)));
    return floats(extents, values);
  };
  std::size_t covered = 0, tried = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t rank = 1 + random.below(2);
    const std::int64_t groups = random.between(1, 2);
    Extents x{random.between(1, 2), 2 * groups}, w{2 * groups, random.between(1, 3)};
    Integers strides, dilations, extra, full;
    for (std::size_t i = 0; i < rank; ++i) {
      x.push_back(random.between(1, 4));
      w.push_back(random.between(1, 4));
      strides.push_back(random.between(1, 3));
      dilations.push_back(random.between(1, 2));
      extra.push_back(random.between(0, 2));
      full.push_back((x.back() - 1) * strides.back() + (w.back() - 1) * dilations.back() + 1 + extra.back());
    }
    runtime::Attributes attributes = with({{"strides", strides}, {"dilations", dilations}, {"group", groups}});
    if (random.chance(0.5)) attributes.set("output_padding", extra);
    if (random.chance(0.5)) {
      attributes.set("auto_pad",
                     std::string(random.pick<const char*>({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"})));
    } else if (random.chance(0.5)) {
      Integers pads;
      for (std::size_t i = 0; i < 2 * rank; ++i) pads.push_back(random.between(0, full[i % rank] / 2));
      attributes.set("pads", pads);
    }
    if (random.chance(0.3)) {
      Integers wanted;
      for (const std::int64_t size : full) wanted.push_back(random.between(1, size + 2));
      attributes.set("output_shape", wanted);
    }
    Operands operands{whole(x), whole(w)};
    if (random.chance(0.5)) operands.emplace_back(whole({w[1] * groups}));
    try {
      runtime::find_host_function("", "ConvTranspose")({"ConvTranspose", 11, attributes, operands, 1});
    } catch (const InputError&) {
      continue;  // pads that leave less than nothing
    }
    ++tried;
    covered += is_covered("ConvTranspose", 11, attributes, operands);
  }
  CHECK(tried > 300);
  CHECK(covered == tried);
  const Operands operands{whole({1, 2, 3}), whole({2, 1, 2})};
  CHECK_FALSE(lowered("ConvTranspose", 11, with({{"pads", Integers{-1, 0}}}), operands));
  CHECK_FALSE(lowered("ConvTranspose", 11, with({{"kernel_shape", Integers{2, 2}}}), operands));
  CHECK_FALSE(lowered("ConvTranspose", 11, with({{"output_padding", Integers{0, 0}}}), operands));
}

TEST_CASE("operators written with other operators") {
  Random random(3);
  const Array x = random_array(random, ElementType::float32, {2, 3, 4, 5});
  CHECK(is_covered("Reciprocal", 13, {}, {x}));
  CHECK(is_covered("GlobalMaxPool", 13, {}, {x}));
  CHECK(is_covered("PRelu", 16, {}, {x, floats({3, 1, 1}, {0.25, -2, 0})}));
  CHECK(is_covered("PRelu", 9, {}, {x, floats({1}, {0.5})}));
  CHECK_FALSE(is_covered("PRelu", 9, {}, {x, floats({1}, {std::numeric_limits<float>::infinity()})}));
}

TEST_CASE("one number as a factor is distinguished from other broadcasts") {
  struct Case {
    Extents first, second;
    std::string_view op;
  };
  const Case cases[] = {{{2, 3}, {}, "scalar_mul"},  {{}, {2, 3}, "scalar_mul"},
                        {{2, 3}, {1}, "scalar_mul"}, {{1, 1}, {2, 3}, "scalar_mul"},
                        {{1, 1}, {1}, "scalar_mul"}, {{}, {1}, "scalar_mul"},
                        {{1}, {1}, "mul"},           {{}, {}, "mul"},
                        {{3}, {1, 1}, "mul"},        {{2, 3}, {2, 1}, "mul"},
                        {{2, 3}, {3}, "mul"}};
  Random random(3);
  for (const Case& one : cases) {
    INFO(fmt::format("{} times {}", one.first, one.second));
    const Array first = random_array(random, ElementType::float32, one.first);
    const Array second = random_array(random, ElementType::float32, one.second);
    CHECK(is_covered("Mul", 14, {}, {first, second}));
    Pool pool;
    const runtime::Attributes none;
    LoweringCall call{pool, "Mul", 14, none, {}, {nullptr, nullptr}, 1};
    for (const Array* operand : {&first, &second})
      call.inputs.push_back(pool.input("x", {operand->type(), shape_of(operand->extents())}));
    CHECK(name_of(*lower(call)->at(0).node->as_operator()) == one.op);
    for (Value& input : call.inputs) input = pool.input("h", {ElementType::float16, input.shape()});
    CHECK(name_of(*lower(call)->at(0).node->as_operator()) == "mul");  // it may prevent an infinity later
  }
}

TEST_CASE("a local response norm of rows is one of places") {
  const std::vector<float> values{1, 2, 3, 4};
  const runtime::Attributes attributes =
      with({{"size", std::int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}});
  const auto rows = lowered("LRN", 13, attributes, {floats({1, 4}, values)});
  const auto places = lowered("LRN", 13, attributes, {floats({1, 4, 1}, values)});
  REQUIRE(rows);
  REQUIRE(places);
  CHECK(rows->extents() == Extents{1, 4});
  CHECK(rows->doubles() == places->doubles());
  CHECK(places->doubles()[3] == Approx(4.0 / 26));
  CHECK_FALSE(lowered("LRN", 13, with({{"size", std::int64_t{0}}}), {floats({1, 4, 1}, values)}));
}

TEST_CASE("sums of products are matrix products") {
  Random random(1);
  struct Sum {
    std::string equation;
    Extents first, second;
    bool is_product = true;
  };
  for (const Sum& sum :
       {Sum{"bij,bjk->bik", {2, 3, 4}, {2, 4, 5}}, Sum{"ij,kj->ki", {3, 4}, {5, 4}},
        Sum{"bhid,bhjd->bhij", {2, 3, 4, 5}, {2, 3, 6, 5}}, Sum{"i,j->ij", {3}, {4}}, Sum{"i,i->", {3}, {3}},
        Sum{"abc,cd->abd", {2, 3, 4}, {4, 5}}, Sum{"nkctv,kvw->nctw", {2, 3, 4, 5, 6}, {3, 6, 7}},
        Sum{"bi,bi->b", {2, 5}, {2, 5}}, Sum{"ij,jk->i", {2, 3}, {3, 4}, false}, Sum{"ii,ij->j", {3, 3}, {3, 4}, false},
        Sum{"...ij,...jk->...ik", {2, 3, 4}, {2, 4, 5}, false}}) {
    INFO(sum.equation);
    CHECK(is_covered("Einsum", 12, with({{"equation", sum.equation}}),
                     {random_array(random, ElementType::float32, sum.first),
                      random_array(random, ElementType::float32, sum.second)},
                     true) == sum.is_product);
  }
}

TEST_CASE("attention is two products and a softmax") {
  Random random(1);
  const auto some = [&](const Extents& extents) { return random_array(random, ElementType::float32, extents); };
  CHECK(is_covered("Attention", 23, {}, {some({2, 4, 5, 8}), some({2, 4, 6, 8}), some({2, 4, 6, 3})}, true));
  CHECK(is_covered("Attention", 23, with({{"scale", 0.5}}),
                   {some({2, 4, 5, 8}), some({2, 2, 6, 8}), some({2, 2, 6, 8}), some({5, 6})}, true));
  const auto heads = with({{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  CHECK(is_covered("Attention", 23, heads, {some({2, 5, 32}), some({2, 6, 16}), some({2, 6, 16})}, true));
  CHECK_FALSE(is_covered("Attention", 23, with({{"is_causal", std::int64_t{1}}}),
                         {some({2, 4, 5, 8}), some({2, 4, 5, 8}), some({2, 4, 5, 8})}));
}

}  // namespace taso::test
