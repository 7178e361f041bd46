// Compares the fast kernels with the operators' own definitions, on random operands of every element type.
#include "runtime/host/interpreter.h"

#include <cmath>
#include <limits>
#include <set>

#include "ops/text/graph_text.h"
#include "ops/text/operator_text.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"

namespace taso::test {

using namespace runtime;

namespace {

const std::vector<ElementType> floating_types{ElementType::float32, ElementType::float64, ElementType::float16,
                                              ElementType::bfloat16};
const std::vector<ElementType> exact_types{ElementType::int8,   ElementType::int16,  ElementType::int32,
                                           ElementType::int64,  ElementType::uint8,  ElementType::uint16,
                                           ElementType::uint32, ElementType::uint64, ElementType::boolean};

/// The allowed difference between two computations, relative to the largest result: rounding in another order of
/// summation.
double tolerance_of(ElementType type) {
  switch (type) {
    case ElementType::float32: return 1e-5;
    case ElementType::float64: return 1e-13;
    case ElementType::float16: return 2e-3;
    case ElementType::bfloat16: return 1.6e-2;
    default: return 0;
  }
}

/// What is wrong with `found`; empty if nothing. `slack` widens the tolerance, for whole graphs.
std::string difference(const Array& found, const Array& expected, double slack = 1) {
  if (found.type() != expected.type()) return "another type";
  if (found.extents() != expected.extents())
    return text_of(found.extents()) + " instead of " + text_of(expected.extents());
  if (!is_floating(found.type())) return identical(found, expected) ? "" : "other bytes";
  const std::vector<double> a = found.doubles(), b = expected.doubles();
  double largest = 1;
  for (const double value : b)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const double tolerance = slack * tolerance_of(found.type()) * largest;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= tolerance) continue;
    return "element " + std::to_string(i) + " is " + text_of_field(a[i]) + " instead of " + text_of_field(b[i]);
  }
  return "";
}

void compare(const Operator& op, const std::vector<Array>& operands, unsigned threads) {
  const std::vector<Array> expected = runtime::evaluate(op, operands, {.threads = 1, .plain = true});
  const std::vector<Array> found = runtime::evaluate(op, operands, {.threads = threads, .plain = false});
  INFO(text_of(op) << " with " << threads << " threads");
  for (const Array& operand : operands) UNSCOPED_INFO(name_of(operand.type()) << text_of(operand.extents()));
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(difference(found[i], expected[i]) == "");
}

std::vector<Array> random_operands(Random& random, const Shapes& shapes, ElementType type) {
  std::vector<Array> operands;
  for (const Shape& shape : shapes) operands.push_back(random_array(random, type, *static_extents(shape)));
  return operands;
}

bool is_elementwise(const Operator& op) {
  static const std::set<std::string_view> others{"matmul",
                                                 "conv",
                                                 "conv_transpose",
                                                 "transpose",
                                                 "average_pool",
                                                 "max_pool",
                                                 "global_average_pool",
                                                 "concat",
                                                 "split",
                                                 "slice",
                                                 "pad",
                                                 "reshape",
                                                 "enlarge",
                                                 "batch_norm",
                                                 "layer_norm",
                                                 "softmax",
                                                 "reduce_sum",
                                                 "reduce_mean",
                                                 "reduce_max",
                                                 "local_response_norm"};
  return max_inputs(op) > 0 && !others.contains(name_of(op));
}

/// Replaces some elements with values that are difficult for formulas.
template <class T>
Array with_special_values(Random& random, const Array& array) {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> special{Limits::infinity(),
                                      -Limits::infinity(),
                                      Limits::quiet_NaN(),
                                      Limits::max(),
                                      Limits::lowest(),
                                      Limits::min(),
                                      Limits::denorm_min(),
                                      T(-0.0),
                                      T(0),
                                      T(1),
                                      T(-1),
                                      T(88.7),
                                      T(-88.7),
                                      T(-104),
                                      T(20),
                                      T(-20)};
  const auto values = array.values<T>();
  std::vector<T> changed(values.begin(), values.end());
  for (T& value : changed)
    if (random.chance(0.5)) value = random.pick(special);
  return Array::of<T>(array.extents(), changed);
}

TEST_CASE("fast paths compute what the operators mean, floating types") {
  Random random(1);
  for (const Operator& kind : all_operators())
    for (const ElementType type : floating_types)
      for (int i = 0; i < 30; ++i) {
        const auto application = random_application(random, kind, {}, type);
        compare(application->op, random_operands(random, application->operands, type), 1 + i % 3);
      }
}

TEST_CASE("fast paths compute what the operators mean, exact types") {
  Random random(2);
  for (const Operator& kind : all_operators())
    for (const ElementType type : exact_types)
      for (int i = 0; i < 10; ++i) {
        const auto application = random_application(random, kind, {}, type);
        compare(application->op, random_operands(random, application->operands, type), 1 + i % 3);
      }
}

TEST_CASE("fast paths compute what the operators mean, larger operands") {
  // Large enough for blocks, vectors with a remainder, and several threads.
  Random random(3);
  RandomShapes shapes;
  shapes.largest = 70;
  for (const Operator& kind : all_operators())
    for (const ElementType type : {ElementType::float32, ElementType::float64, ElementType::int32})
      for (int done = 0; done < 6;) {
        const auto application = random_application(random, kind, shapes, type);
        std::int64_t elements = 0;
        for (const Shapes* list : {&application->operands, &application->results})
          for (const Shape& shape : *list) elements = std::max(elements, count(*static_extents(shape)));
        if (elements > 150'000) continue;
        compare(application->op, random_operands(random, application->operands, type), 2);
        ++done;
      }
}

TEST_CASE("fast paths compute what the operators mean, shapes of real networks") {
  struct Row {
    const char* op;
    std::vector<Extents> operands;
  };
  const std::vector<Row> rows{
      {"matmul", {{129, 257}, {257, 65}}},
      {"matmul", {{3, 1, 33, 40}, {5, 40, 31}}},
      {"matmul", {{1, 512}, {512, 300}}},
      {"conv[strides=[2, 2], dilations=[1, 1], pads=[3, 3, 3, 3]]", {{1, 3, 45, 45}, {16, 3, 7, 7}, {16}}},
      {"conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]]", {{2, 16, 14, 14}, {24, 16, 3, 3}}},
      {"conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]]", {{2, 32, 14, 14}, {24, 32, 1, 1}, {24}}},
      {"conv[strides=[2, 1], dilations=[2, 3], pads=[2, 0, 1, 4]]", {{1, 4, 19, 23}, {6, 4, 3, 2}}},
      {"conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=32]", {{1, 32, 28, 28}, {32, 1, 3, 3}, {32}}},
      {"conv[strides=[2, 2], dilations=[1, 1], pads=[2, 2, 2, 2], groups=32]", {{2, 32, 27, 29}, {64, 1, 5, 5}}},
      {"conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=8]", {{1, 32, 13, 13}, {16, 4, 3, 3}}},
      {"conv[strides=[2], dilations=[1], pads=[1, 0]]", {{2, 5, 301}, {7, 5, 4}, {7}}},
      {"conv[strides=[1, 2, 1], dilations=[1, 1, 2], pads=[1, 1, 0, 0, 1, 2]]", {{1, 3, 6, 9, 8}, {4, 3, 3, 2, 2}}},
      {"max_pool[kernel=[3, 3], strides=[2, 2], dilations=[1, 1], pads=[1, 1, 1, 1], ceil=true]", {{2, 16, 56, 55}}},
      {"average_pool[kernel=[3, 3], strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]]", {{1, 16, 35, 35}}},
      {"global_average_pool", {{2, 64, 14, 14}}},
      {"batch_norm", {{2, 64, 28, 28}, {64}, {64}, {64}, {64}}},
      {"layer_norm[axis=2]", {{2, 50, 192}, {192}, {192}}},
      {"softmax[axis=3]", {{1, 4, 33, 65}}},
      {"softmax[axis=1]", {{3, 1001, 2}}},
      {"reduce_mean[axes=[2, 3], keep=false]", {{2, 64, 14, 15}}},
      {"reduce_sum[axes=[0, 2], keep=true]", {{20, 64, 34}}},
      {"reduce_max[axes=[1], keep=true]", {{7, 2000, 3}}},
      {"transpose[permutation=[0, 2, 3, 1]]", {{2, 33, 47, 19}}},
      {"transpose[permutation=[0, 2, 1, 3]]", {{1, 50, 12, 64}}},
      {"add", {{2, 64, 28, 28}, {64, 1, 1}}},
      {"mul", {{2, 50, 192}, {192}}},
      {"sub", {{100, 1}, {1, 333}}},
      {"div", {{70'001}, {}}},
      {"gelu", {{70'001}}},
      {"concat[axis=1]", {{2, 33, 28, 28}, {2, 31, 28, 28}}},
      {"pad[before=[0, 0, 1, 2], after=[0, 0, 3, 0], value=0.5]", {{2, 16, 28, 28}}},
  };
  Random random(4);
  for (const Row& row : rows) {
    const Source source("row", row.op);
    Lexer lexer(source);
    const Operator op = parse_operator(lexer);
    for (const ElementType type : {ElementType::float32, ElementType::float64, ElementType::float16}) {
      std::vector<Array> operands;
      for (const Extents& extents : row.operands) operands.push_back(random_array(random, type, extents));
      for (const unsigned threads : {1u, 2u, 5u}) compare(op, operands, threads);
    }
  }
}

TEST_CASE("fast paths agree on infinities, NaN and signed zeros") {
  Random random(5);
  for (const Operator& kind : all_operators()) {
    if (!is_elementwise(kind) && name_of(kind) != "max_pool" && name_of(kind) != "reduce_max") continue;
    for (int i = 0; i < 60; ++i) {
      const auto application = random_application(random, kind, {});
      std::vector<Array> narrow, wide;
      for (const Shape& shape : application->operands) {
        const Extents extents = *static_extents(shape);
        narrow.push_back(with_special_values<float>(random, random_array(random, ElementType::float32, extents)));
        wide.push_back(with_special_values<double>(random, random_array(random, ElementType::float64, extents)));
      }
      compare(application->op, narrow, 2);
      compare(application->op, wide, 2);
    }
  }
}

TEST_CASE("operands are not written to") {
  // A value that is used twice must survive its first use, in place or not.
  Random random(6);
  for (const Operator& kind : all_operators())
    for (int i = 0; i < 10; ++i) {
      const auto application = random_application(random, kind, {});
      const auto operands = random_operands(random, application->operands, ElementType::float32);
      std::vector<Array> copies;
      for (const Array& operand : operands) {
        const auto values = operand.values<float>();
        copies.push_back(Array::of<float>(operand.extents(), {values.begin(), values.end()}));
      }
      runtime::evaluate(application->op, operands);
      for (std::size_t j = 0; j < operands.size(); ++j) REQUIRE(identical(operands[j], copies[j]));
    }
}

/// Random numbers for the unknowns and inputs of matching shapes; nothing if a dimension is negative.
std::optional<std::vector<Array>> random_inputs(Random& random, const Graph& graph) {
  const std::int64_t n = random.between(2, 7), t = random.between(2, 7);
  std::vector<Array> inputs;
  for (const Value& value : graph.inputs) {
    Extents extents;
    for (const Dim& dim : value.shape())
      extents.push_back(dim.evaluate([&](std::string_view name) { return name == "N" ? n : t; }));
    for (const std::int64_t extent : extents)
      if (extent < 0) return std::nullopt;
    inputs.push_back(random_array(random, value.type().element, extents));
  }
  return inputs;
}

TEST_CASE("graphs compute the same with and without fast paths", "[threads]") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomGraphOptions options;
    options.element = seed % 3 == 0 ? ElementType::int32 : seed % 3 == 1 ? ElementType::float64 : ElementType::float32;
    if (seed % 2 == 1) options.shapes.symbols = {"N", "T"};
    Graph graph = random_graph(seed, options);
    // Adds an input from which every unknown can be found.
    graph.inputs.push_back(graph.pool->input("sizes", {options.element, Shape{Dim::symbol("N"), Dim::symbol("T")}}));
    Random random(seed);
    const auto inputs = random_inputs(random, graph);
    if (!inputs) continue;
    INFO("seed " << seed << "\n" << text_of(graph));
    std::vector<Array> expected, found;
    try {
      expected = interpret(graph, *inputs, {.threads = 1, .plain = true});
    } catch (const InputError&) {
      // These numbers do not fit an operator that fits for most: both must refuse them.
      CHECK_THROWS_AS(interpret(graph, *inputs), InputError);
      continue;
    }
    found = interpret(graph, *inputs, {.threads = 2, .plain = false});
    REQUIRE(found.size() == expected.size());
    if (options.element != ElementType::float32)  // only where rounding errors cannot grow large
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(difference(found[i], expected[i], 1e4) == "");
    ++compared;
  }
  CHECK(compared > 150);
}

std::string refusal(const std::string& text, const std::vector<Array>& inputs) {
  try {
    interpret(parse_graph(text), inputs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("graphs that cannot run are refused") {
  const Array two = Array::of<float>({2}, {1, 2}), three = Array::of<float>({3}, {1, 2, 3});
  const std::string head = "graph\n input x: float32[N]\n input y: float32[N]\n ";
  CHECK(refusal(head + "z = add(x, y)\n output z", {two, two}).empty());
  CHECK(!refusal(head + "z = add(x, y)\n output z", {two}).empty());
  CHECK(!refusal(head + "z = add(x, y)\n output z", {two, two, two}).empty());
  CHECK(!refusal(head + "z = add(x, y)\n output z", {two, three}).empty());
  CHECK(!refusal(head + "z = add(x, y)\n output z", {two, two.cast(ElementType::float64)}).empty());
  CHECK(!refusal(head + "z = add(x, y)\n output z", {two, two.reshaped({2, 1})}).empty());
  CHECK(!refusal(head + "constant c: float32[2]\n output c", {two, two}).empty());
  CHECK(!refusal(head + "z = opaque \"Unheard\"(x) -> float32[N]\n output z", {two, two}).empty());
  CHECK(!refusal(head + "a, b = split[axis=0, at=3](x)\n output a", {two, two}).empty());
  // An unused node does not stop the rest.
  CHECK(refusal(head + "z = opaque \"Unheard\"(x) -> float32[N]\n output y", {two, two}).empty());
}

TEST_CASE("a small program by hand") {
  const Graph graph = parse_graph(
      "graph\n input x: float32[N, 2]\n constant w: float32[2, 2] = [1, 2, 3, 4]\n constant b: float32[2] = [10, "
      "-100]\n"
      " a = matmul(x, w)\n s = add(a, b)\n r = relu(s)\n l, u = split[axis=0, at=1](r)\n output u, r");
  const std::vector<Array> results = interpret(graph, std::vector{Array::of<float>({2, 2}, {1, 1, 2, 30})});
  CHECK(identical(results[0], Array::of<float>({1, 2}, {102, 24})));
  CHECK(identical(results[1], Array::of<float>({2, 2}, {14, 0, 102, 24})));
}

}  // namespace
}  // namespace taso::test
