// A convolution followed by an add of a vector to its channels gives the same call, and the same results, as the
// convolution with this bias; unless it is not the same work.
#include "cost/plan/added_bias.h"

#include <algorithm>
#include <cmath>

#include "cost/pricing/recorded_prices.h"
#include "ops/text/graph_text.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"
#include "tests/runtime/gpu/call_on_host.h"

namespace taso::test {

using namespace gpu;

namespace {

constexpr cost::Layout layouts[] = {cost::Layout::channels_first, cost::Layout::channels_last};
constexpr cost::Precision precisions[] = {cost::Precision::fp32, cost::Precision::tf32, cost::Precision::fp16,
                                          cost::Precision::bf16};

/// Constants of the same name have the same numbers, whatever their shape.
class Bench {
 public:
  Bench() { graph.pool = std::make_shared<Pool>(); }
  Value input(const char* name, const Extents& extents) {
    graph.inputs.push_back(graph.pool->input(name, {ElementType::float32, shape_of(extents)}));
    return graph.inputs.back();
  }
  Value constant(const char* name, const Extents& extents) {
    Random random(std::hash<std::string_view>{}(name) % 1000);
    return graph.pool->constant(name, {ElementType::float32, shape_of(extents)},
                                std::make_shared<HeldWeight>(random_array(random, ElementType::float32, extents)));
  }
  Value apply(const Operator& op, const std::vector<Value>& operands) { return graph.pool->add(op, operands).output(); }
  Value add(const Value& a, const Value& b, bool is_turned = false) {
    return apply(op::Add{}, is_turned ? std::vector{b, a} : std::vector{a, b});
  }
  Graph graph;
};

op::Conv convolution(std::size_t axes, std::int64_t groups = 1) {
  return {std::vector<std::int64_t>(axes, 1), std::vector<std::int64_t>(axes, 1),
          std::vector<std::int64_t>(2 * axes, 1), groups};
}

std::vector<std::string> texts_of(const Graph& graph, cost::Layout layout, cost::Precision precision) {
  std::vector<std::string> texts;
  const cost::WholeGraph view(graph, {}, layout);
  for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline(precision)).steps)
    texts.push_back(cost::text_of(cost::call_of(view, step.kernel, precision).call));
  return texts;
}

std::vector<std::vector<std::byte>> outputs_of(const Graph& graph, cost::Layout layout, cost::Precision precision) {
  const cost::WholeGraph view(graph, {}, layout);
  const Execution execution = make_execution(view, graph, cost::plan(view, cost::Roofline(precision)), precision);
  Random random(3);
  std::vector<std::vector<std::byte>> inputs;
  for (const Value& input : graph.inputs)
    inputs.push_back(to_device(random_array(random, ElementType::float32, *static_extents(input.shape())), precision));
  return run_on_host(execution.steps, inputs);
}

void check_meaning(const Graph& graph, cost::Layout layout) {
  Random random(3);
  std::vector<Array> inputs;
  for (const Value& input : graph.inputs)
    inputs.push_back(random_array(random, ElementType::float32, *static_extents(input.shape())));
  const std::vector<Array> expected = runtime::interpret(graph, inputs);
  const auto outputs = outputs_of(graph, layout, cost::Precision::fp32);
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<double> wanted = expected[i].doubles();
    const std::vector<double> found =
        from_device(outputs[i], ElementType::float32, expected[i].extents(), cost::Precision::fp32).doubles();
    for (std::size_t j = 0; j < wanted.size(); ++j)
      REQUIRE(std::abs(found[j] - wanted[j]) <= 1e-5 * (1 + std::abs(wanted[j])));
  }
}

struct Setting {
  std::size_t axes = 2;
  std::int64_t groups = 1;
  bool has_relu = false, has_residual = false;
};

/// `ones`: the number of leading axes of 1 of the added vector; -1: the bias is an operand of the convolution.
Graph biased(const Setting& setting, int ones, bool is_turned = false) {
  Bench bench;
  Extents image{2, 6}, kernel{8, 6 / setting.groups}, vector{8}, result{2, 8};
  for (std::size_t i = 0; i < setting.axes; ++i) {
    for (Extents* extents : {&image, &result}) extents->push_back(4);
    kernel.push_back(3);
    if (ones >= 0) vector.push_back(1);
  }
  for (int i = 0; i < ones; ++i) vector.insert(vector.begin(), 1);
  const Value x = bench.input("x", image), y = bench.input("y", result), w = bench.constant("w", kernel);
  const Value b = bench.constant("b", vector);
  const op::Conv conv = convolution(setting.axes, setting.groups);
  Value value = ones < 0 ? bench.apply(conv, {x, w, b}) : bench.add(bench.apply(conv, {x, w}), b, is_turned);
  if (setting.has_residual) value = bench.add(value, y, is_turned);
  if (setting.has_relu) value = bench.apply(op::Relu{}, {value});
  bench.graph.outputs = {value};
  return bench.graph;
}

/// Whether the first convolution has three operands.
bool is_joined(const Graph& graph, cost::Layout layout) {
  for (const std::string& text : texts_of(graph, layout, cost::Precision::tf32))
    if (const std::size_t at = text.find("groups="); at != std::string::npos) {
      const std::size_t open = text.find('(', at), close = text.find(')', open);
      return std::count(text.begin() + static_cast<std::ptrdiff_t>(open),
                        text.begin() + static_cast<std::ptrdiff_t>(close), ',') == 2;
    }
  FAIL("there is a convolution");
  return false;
}

}  // namespace

TEST_CASE("an added bias equals the convolution's own bias") {
  for (const std::size_t axes : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
    for (const std::int64_t groups : {1, 2})
      for (const bool has_relu : {false, true})
        for (const bool has_residual : {false, true}) {
          const Setting setting{axes, groups, has_relu, has_residual};
          const Graph own = biased(setting, -1);
          for (const int ones : {0, 1})
            for (const bool is_turned : {false, true}) {
              const Graph added = biased(setting, ones, is_turned);
              INFO(text_of(added));
              for (const cost::Layout layout : layouts) {
                for (const cost::Precision precision : precisions) {
                  CHECK(texts_of(added, layout, precision) == texts_of(own, layout, precision));
                  CHECK(cost::plan(cost::WholeGraph(added, {}, layout), cost::Roofline(precision)).cost ==
                        cost::plan(cost::WholeGraph(own, {}, layout), cost::Roofline(precision)).cost);
                  CHECK(outputs_of(added, layout, precision) == outputs_of(own, layout, precision));
                }
                check_meaning(added, layout);
              }
            }
        }
}

TEST_CASE("a price measured with a bias counts for an added one") {
  const Setting setting{2, 1, true, false};
  const Graph own = biased(setting, -1), added = biased(setting, 1, true);
  auto database = std::make_shared<cost::PriceDatabase>();
  for (const cost::Layout layout : layouts)
    for (const std::string& text : texts_of(own, layout, cost::Precision::tf32))
      database->set("M", text, {777, 0, true, ""});
  const cost::RecordedPrices prices(database, "M", cost::Precision::tf32);
  for (const cost::Layout layout : layouts) {
    const cost::WholeGraph view(added, {}, layout);
    for (const cost::Plan::Step& step : cost::plan(view, prices).steps)
      CHECK(prices.measured(view, step.kernel) == 777'000);
  }
}

TEST_CASE("other additions are not a bias") {
  const auto check_apart = [](const Graph& graph) {
    INFO(text_of(graph));
    for (const cost::Layout layout : layouts) {
      CHECK_FALSE(is_joined(graph, layout));
      check_meaning(graph, layout);
    }
  };
  // All sizes are equal, so that only its position identifies an axis.
  const auto with = [&](const Extents& extents, const auto& make) {
    Bench bench;
    const Value x = bench.input("x", {2, 4, 4, 4}), w = bench.constant("w", {4, 4, 3, 3});
    const Value product = bench.apply(convolution(2), {x, w});
    bench.graph.outputs = make(bench, product, bench.constant("b", extents));
    check_apart(bench.graph);
  };
  const auto added = [](Bench& bench, const Value& product, const Value& vector) {
    return std::vector{bench.apply(op::Relu{}, {bench.add(product, vector)})};
  };
  for (const Extents& extents : {Extents{},
                                 {1},
                                 {4},
                                 {4, 1},
                                 {1, 1, 4, 1},
                                 {1, 1, 1, 4},
                                 {2, 1, 1, 1},
                                 {2, 4, 1, 1},
                                 {1, 4, 4, 1},
                                 {1, 4, 1, 4},
                                 {1, 1, 1, 1},
                                 {1, 4, 4, 4},
                                 {1, 1, 4, 1, 1}})
    with(extents, added);
  const Extents vector{1, 4, 1, 1};
  with(vector, [](Bench& bench, const Value& product, const Value& b) {
    return std::vector{bench.apply(op::Sub{}, {product, b})};
  });
  with(vector, [](Bench& bench, const Value& product, const Value& b) {
    return std::vector{bench.add(product, b), product};
  });
  with(vector, [](Bench& bench, const Value& product, const Value& b) {
    return std::vector{bench.apply(op::Mul{}, {bench.add(product, b), bench.apply(op::Sigmoid{}, {product})})};
  });
  with(vector, [](Bench& bench, const Value& product, const Value& b) {  // there it is not a vector
    return std::vector{bench.apply(op::Mul{}, {bench.add(product, b), b})};
  });
  with(vector,
       [](Bench& bench, const Value& product, const Value&) { return std::vector{bench.add(product, product)}; });
  with(vector, [](Bench& bench, const Value& product, const Value&) {
    return std::vector{bench.add(product, bench.input("c", {1, 4, 1, 1}))};
  });
  with(vector, [](Bench& bench, const Value& product, const Value& b) {
    return std::vector{bench.add(bench.apply(op::Relu{}, {product}), b)};
  });
}

TEST_CASE("a convolution has one bias of its own") {
  Bench bench;
  const Value x = bench.input("x", {2, 4, 4, 4}), w = bench.constant("w", {4, 4, 3, 3});
  const Value first = bench.add(bench.constant("b", {1, 4, 1, 1}), bench.apply(convolution(2), {x, w}));
  bench.graph.outputs = {bench.add(bench.constant("c", {1, 4, 1, 1}), first)};
  for (const cost::Layout layout : layouts) {
    const std::vector<std::string> texts = texts_of(bench.graph, layout, cost::Precision::tf32);
    CHECK(std::any_of(texts.begin(), texts.end(),
                      [](const std::string& text) { return text.ends_with("groups=1](0,1,2) add(4,3)"); }));
    check_meaning(bench.graph, layout);
  }
}

TEST_CASE("the order of what is added or multiplied does not matter to a call") {
  const auto graph_of = [](bool is_turned) {
    Bench bench;
    const Value x = bench.input("x", {2, 4, 4, 4}), y = bench.input("y", {2, 4, 4, 4});
    const auto both = [&](const Operator& op, const Value& a, const Value& b) {
      return bench.apply(op, is_turned ? std::vector{b, a} : std::vector{a, b});
    };
    const Value product = bench.apply(op::MatMul{}, {x, bench.constant("matrix", {4, 4})});
    const Value sum = both(op::Add{}, both(op::Mul{}, product, bench.constant("row", {4})), y);
    const Value pooled = bench.apply(op::MaxPool{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, {sum});
    const Value scaled = bench.apply(op::Relu{}, {both(op::Mul{}, pooled, bench.constant("single", {1}))});
    bench.graph.outputs = {both(op::Add{}, bench.apply(op::Sqrt{}, {scaled}), y),
                           bench.apply(op::Sub{}, {y, bench.apply(op::Relu{}, {sum})})};
    return bench.graph;
  };
  for (const cost::Layout layout : layouts) {
    CHECK(texts_of(graph_of(true), layout, cost::Precision::fp32) ==
          texts_of(graph_of(false), layout, cost::Precision::fp32));
    CHECK(outputs_of(graph_of(true), layout, cost::Precision::fp32) ==
          outputs_of(graph_of(false), layout, cost::Precision::fp32));
    check_meaning(graph_of(true), layout);
  }
}

}  // namespace taso::test
