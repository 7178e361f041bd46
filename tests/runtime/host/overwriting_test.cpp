// A run overwrites memory that is an input and an output where that is right, and copies it elsewhere.
#include "runtime/host/overwriting.h"

#include <cstring>

#include "ops/core/random.h"
#include "tests/catch.h"
#include "tests/cost/plain_body.h"

namespace taso::test {

using namespace runtime;

namespace {

/// A graph of a cache of six tokens, the place of a new one, and that token.
struct Cached {
  Graph graph;
  Type type{ElementType::float32, shape_of({2, 6, 3})};
  Value cache, place, token;

  Cached() {
    graph.pool = std::make_shared<Pool>();
    cache = graph.pool->input("cache", type);
    place = graph.pool->input("place", {ElementType::int64, shape_of({2, 1, 3})});
    token = graph.pool->input("token", {ElementType::float32, shape_of({2, 1, 3})});
    graph.inputs = {cache, place, token};
  }
  Value written(const Value& to, const Value& updates) {
    return apply_plain(*graph.pool, plain("ScatterElements", 1), type, {to, place, updates});
  }
};

/// Runs the graph with a cache that may be overwritten. Returns whether the first result lies there.
bool is_in_place(const Graph& graph) {
  Random random(5);
  const auto draw = [&](const Extents& extents) {
    std::vector<float> list(static_cast<std::size_t>(count(extents)));
    for (float& one : list) one = static_cast<float>(random.unit());
    return Array::of<float>(extents, list);
  };
  Array memory = draw({2, 6, 3});
  const Array place = Array::of<std::int64_t>({2, 1, 3}, std::vector<std::int64_t>(6, 4)), token = draw({2, 1, 3});
  const Array before = Array::of<float>({2, 6, 3}, {memory.values<float>().begin(), memory.values<float>().end()});
  const std::vector<Array> expected = interpret(graph, std::vector{before, place, token});
  const std::vector<Overwritable> overwritable{{memory.mutable_data(), std::make_shared<const char>()}};
  const Array view = Array::view(memory.type(), memory.extents(), memory.data(), overwritable[0].owner);
  const std::vector<Array> found = interpret_in_place(graph, std::vector{view, place, token}, {}, overwritable);
  REQUIRE(found.size() == expected.size());
  bool is_any = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(identical(found[i], expected[i]));
    is_any = is_any || found[i].data() == memory.data();
  }
  CHECK((is_any || identical(memory, before)));  // else it was not touched
  return found[0].data() == memory.data();
}

}  // namespace

TEST_CASE("a scatter overwrites an input that nothing else needs") {
  Cached one;
  Pool& pool = *one.graph.pool;
  SECTION("its only reader") {
    one.graph.outputs = {one.written(one.cache, one.token)};
    CHECK(is_in_place(one.graph));
  }
  SECTION("another reads the operand before") {
    const Value other = pool.apply(op::Relu{}, {one.cache});
    one.graph.outputs = {one.written(one.cache, one.token), other};
    CHECK(is_in_place(one.graph));
  }
  SECTION("another reads the operand later") {
    const Value present = one.written(one.cache, one.token);
    one.graph.outputs = {present, pool.apply(op::Add{}, {present, one.cache})};
    CHECK_FALSE(is_in_place(one.graph));
  }
  SECTION("the operand is a result") {
    one.graph.outputs = {one.written(one.cache, one.token), one.cache};
    CHECK_FALSE(is_in_place(one.graph));
  }
  SECTION("the operand is seen in another shape, which is a result") {
    const Value seen = pool.apply(op::Reshape{{12, 3}}, {one.cache});
    one.graph.outputs = {one.written(one.cache, one.token), seen};
    CHECK_FALSE(is_in_place(one.graph));
  }
  SECTION("one after the other") {
    const Value first = one.written(one.cache, one.token);
    one.graph.outputs = {one.written(first, pool.apply(op::Relu{}, {one.token}))};
    CHECK(is_in_place(one.graph));
  }
  SECTION("two write over the same: the second may") {
    one.graph.outputs = {one.written(one.cache, one.token), one.written(one.cache, one.token)};
    CHECK_FALSE(is_in_place(one.graph));
  }
}

}  // namespace taso::test
