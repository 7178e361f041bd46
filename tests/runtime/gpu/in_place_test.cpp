// Inputs and outputs of a program may be the same memory where a step only writes some elements over the input.
#include <algorithm>

#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "runtime/gpu/execution.h"
#include "runtime/gpu/hazards.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/cost/plain_body.h"
#include "tests/ops/random_graph.h"
#include "tests/runtime/gpu/call_on_host.h"

namespace taso::test {

using namespace gpu;

namespace {

/// A cache of six tokens for each of two heads, and a new token that is written into it.
struct Decoder {
  Graph graph;
  Type type{ElementType::float32, shape_of({2, 6, 4})};
  Value cache, place, token;

  Decoder() {
    graph.pool = std::make_shared<Pool>();
    cache = graph.pool->input("cache", type);
    place = graph.pool->input("place", {ElementType::int64, shape_of({2, 1, 4})});
    token = graph.pool->input("token", {ElementType::float32, shape_of({2, 1, 4})});
    graph.inputs = {cache, place, token};
  }
  Value written(const Value& to, const Value& updates) {
    return apply_plain(*graph.pool, plain("ScatterElements", 1), type, {to, place, updates});
  }
  Value relu(const Value& x) { return graph.pool->apply(op::Relu{}, {x}); }
  Value add(const Value& x, const Value& y) { return graph.pool->apply(op::Add{}, {x, y}); }
};

/// Checks that programs compute the same with memory that is an input and an output. Returns how many such pairs.
std::size_t check_in_place(const Graph& graph) {
  Random random(3);
  std::vector<Array> inputs;
  for (const Value& input : graph.inputs)
    inputs.push_back(random_array(random, input.type().element, *static_extents(input.shape())));
  inputs[1] = Array::of<std::int64_t>({2, 1, 4}, std::vector<std::int64_t>(8, 4));
  const std::vector<Array> expected = runtime::interpret(graph, inputs);
  const cost::WholeGraph view(graph);
  const cost::Plan laid = cost::plan(view, cost::Roofline());
  const Execution execution = make_execution(view, graph, laid, cost::Precision::fp32);
  std::vector<std::vector<std::byte>> bytes, outputs;
  for (const Array& input : inputs) bytes.push_back(to_device(input, cost::Precision::fp32));
  for (const Array& output : expected) outputs.push_back(to_device(output, cost::Precision::fp32));
  REQUIRE(run_on_host(execution.steps, bytes) == outputs);
  REQUIRE(run_on_host(execution.steps, bytes, {}, true) == outputs);
  // Every order that the needs allow, by exchanging neighbours at random.
  std::vector<std::uint32_t> order(execution.steps.steps.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < 200 && order.size() > 1; ++round) {
    const std::size_t at = random.below(order.size() - 1);
    const std::vector<std::uint32_t>& list = execution.tasks[order[at + 1]].needs;
    if (std::find(list.begin(), list.end(), order[at]) == list.end()) std::swap(order[at], order[at + 1]);
    REQUIRE(run_on_host(execution.steps, bytes, order, true) == outputs);
  }
  return execution.steps.in_place.size();
}

}  // namespace

TEST_CASE("a scatter writes over its operand if that is an input, and nothing reads it later") {
  Decoder one;
  SECTION("its only reader") {
    one.graph.outputs = {one.written(one.cache, one.token)};
    CHECK(check_in_place(one.graph) == 1);
  }
  SECTION("others read the result") {
    const Value present = one.written(one.cache, one.token);
    one.graph.outputs = {one.relu(present), present};
    CHECK(check_in_place(one.graph) == 1);
  }
  SECTION("another reads the operand first") {
    const Value before = one.relu(one.cache);
    one.graph.outputs = {before, one.written(one.cache, one.token)};
    CHECK(check_in_place(one.graph) == 1);
  }
  SECTION("another reads the operand later") {
    const Value present = one.written(one.cache, one.token);
    one.graph.outputs = {present, one.add(one.relu(present), one.cache)};
    CHECK(check_in_place(one.graph) == 0);
  }
  SECTION("the operand is an output too") {
    one.graph.outputs = {one.written(one.cache, one.token), one.cache};
    CHECK(check_in_place(one.graph) == 0);
  }
  SECTION("two write over it: one at most may be in place") {
    one.graph.outputs = {one.written(one.cache, one.token), one.written(one.cache, one.relu(one.token))};
    CHECK(check_in_place(one.graph) == 1);
  }
  SECTION("what is written comes from the operand") {
    Value updates = one.graph.pool->apply(op::Slice{1, 2, 3}, {one.cache});
    one.graph.outputs = {one.written(one.cache, updates)};
    check_in_place(one.graph);
  }
  SECTION("the operand is no input") {
    one.graph.outputs = {one.written(one.relu(one.cache), one.token)};
    CHECK(check_in_place(one.graph) == 0);
  }
  SECTION("the result is no output") {
    one.graph.outputs = {one.relu(one.written(one.cache, one.token))};
    CHECK(check_in_place(one.graph) == 0);
  }
  SECTION("the result is cut or viewed otherwise") {
    const Value present = one.written(one.cache, one.token);
    one.graph.outputs = {one.graph.pool->apply(op::Reshape{{2, 24}}, {present})};
    CHECK(check_in_place(one.graph) == 1);
  }
}

}  // namespace taso::test
