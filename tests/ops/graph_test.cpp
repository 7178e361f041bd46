#include "ops/graph/graph.h"

#include "ops/text/graph_text.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

const Type vector_type{ElementType::float32, Shape{4}};

class NamedBody : public OpaqueBody {
 public:
  explicit NamedBody(std::string name) : name_(std::move(name)) {}
  std::string obstacle() const override { return "it is only a name"; }
  std::vector<Array> run(const std::vector<std::optional<Array>>&) const override { return {}; }
  bool same(const OpaqueBody& other) const override {
    const auto* named = dynamic_cast<const NamedBody*>(&other);
    return named != nullptr && named->name_ == name_;
  }

 private:
  std::string name_;
};

Opaque opaque_of(std::string kind, std::shared_ptr<const OpaqueBody> body = nullptr) {
  Opaque opaque;
  opaque.kind = std::move(kind);
  opaque.outputs = {vector_type};
  opaque.body = std::move(body);
  return opaque;
}

bool equal_texts(const std::string& a, const std::string& b) {
  const std::string head = "graph\n input x: float32[4]\n input y: float32[4]\n constant c: float32[4]\n ";
  return equal(parse_graph(head + a), parse_graph(head + b));
}

TEST_CASE("equal nodes are one node") {
  Pool pool;
  const Value x = pool.input("x", vector_type), y = pool.input("y", vector_type);
  CHECK(pool.input("x", vector_type) == x);
  CHECK(!(x == y));
  CHECK(pool.constant("c", vector_type) == pool.constant("c", vector_type));
  CHECK(!(pool.constant("x", vector_type) == x));
  CHECK(!(pool.input("x", {ElementType::float64, Shape{4}}) == x));
  const Value sum = pool.apply(op::Add{}, {x, y});
  const std::size_t size = pool.size();
  CHECK(pool.apply(op::Add{}, {x, y}) == sum);
  CHECK(pool.size() == size);
  CHECK(!(pool.apply(op::Add{}, {y, x}) == sum));
  CHECK(pool.size() == size + 1);
}

TEST_CASE("attributes and the choice of output tell values apart") {
  Pool pool;
  const Value x = pool.input("x", vector_type);
  op::Split at_one, at_two;
  at_two.at = 2;
  const Value operands[] = {x};
  const ops::Node& one = pool.add(at_one, operands);
  const ops::Node& two = pool.add(at_two, operands);
  CHECK(&one != &two);
  CHECK(&one == &pool.add(at_one, operands));
  CHECK(!(one.output(0) == one.output(1)));
  CHECK(one.output(1).shape() == Shape{3});
  CHECK(two.output(1).shape() == Shape{2});
}

TEST_CASE("opaque nodes never merge") {
  Pool pool;
  const Value operands[] = {pool.input("x", vector_type)};
  const ops::Node& one = pool.add_opaque(opaque_of("RandomNormalLike"), operands);
  const ops::Node& two = pool.add_opaque(opaque_of("RandomNormalLike"), operands);
  CHECK(&one != &two);
  CHECK(!(pool.apply(op::Relu{}, {one.output()}) == pool.apply(op::Relu{}, {two.output()})));
}

TEST_CASE("operands must fit") {
  Pool pool;
  const Value x = pool.input("x", vector_type);
  CHECK_THROWS_AS(pool.apply(op::Add{}, {x}), ShapeError);
  CHECK_THROWS_AS(pool.apply(op::Add{}, {x, pool.input("y", {ElementType::float32, Shape{5}})}), ShapeError);
  CHECK_THROWS_AS(pool.apply(op::Add{}, {x, pool.input("z", {ElementType::int32, Shape{4}})}), ShapeError);
  CHECK_THROWS_AS(pool.apply(op::Add{}, {x, pool.input("u", {ElementType::float32, std::nullopt})}), ShapeError);
  CHECK_THROWS_AS(pool.apply(op::Add{}, {x, Value{}}), InternalError);
}

TEST_CASE("nodes come in order of creation and only as needed") {
  Graph graph{std::make_shared<Pool>(), {}, {}};
  Pool& pool = *graph.pool;
  const Value x = pool.input("x", vector_type);
  const Value first = pool.apply(op::Relu{}, {x});
  pool.apply(op::Tanh{}, {x});
  const Value second = pool.apply(op::Sigmoid{}, {x});
  const Value both = pool.apply(op::Add{}, {second, first});
  graph.outputs = {both, first};
  CHECK(graph.nodes() == std::vector<const ops::Node*>{x.node, first.node, second.node, both.node});
}

TEST_CASE("a long chain does not exhaust the stack") {
  const auto chain = [](std::size_t length) {
    Graph graph{std::make_shared<Pool>(), {}, {}};
    Value value = graph.pool->input("x", vector_type);
    graph.inputs = {value};
    for (std::size_t i = 0; i < length; ++i) value = graph.pool->apply(op::Relu{}, {value});
    graph.outputs = {value};
    return graph;
  };
  CHECK(equal(chain(200'000), chain(200'000)));
  CHECK(!equal(chain(1000), chain(1001)));
}

TEST_CASE("equality across pools is equality of structure") {
  CHECK(equal_texts("a = add(x, y)\n b = relu(a)\n output a, b",
                    "s = add(x, y)\n t = tanh(x)\n r = relu(s)\n output s, r"));
  CHECK(!equal_texts("a = sub(x, y)\n output a", "a = sub(y, x)\n output a"));
  CHECK(!equal_texts("a = add(x, c)\n output a", "a = add(x, y)\n output a"));
  CHECK(!equal_texts("a = relu(x)\n output a", "a = tanh(x)\n output a"));
  CHECK(!equal_texts("a, b = split(x)\n output a, b", "a, b = split(x)\n output b, a"));
  CHECK(!equal_texts("a, b = split(x)\n output a", "a, b = split[at=2](x)\n output a"));
  CHECK(!equal_texts("output x", "output x, x"));
  CHECK(!equal_texts("output x", "input z: float32[4]\n output x"));
}

TEST_CASE("the same operators with other wiring are another graph") {
  // The same number of nodes of each kind and the same operands: only the wiring differs.
  CHECK(!equal_texts("a = relu(x)\n b = tanh(a)\n d = relu(y)\n e = add(b, d)\n output e",
                     "a = relu(y)\n b = tanh(a)\n d = relu(x)\n e = add(b, d)\n output e"));
  CHECK(!equal_texts("a = add(x, y)\n b = mul(a, a)\n output b", "a = add(x, y)\n b = mul(a, x)\n output b"));
}

TEST_CASE("opaque nodes are paired one to one, by what they do") {
  CHECK(equal_texts("a = opaque \"R\"(x) -> float32[4]\n output a", "a = opaque \"R\"(x) -> float32[4]\n output a"));
  CHECK(!equal_texts("a = opaque \"R\"(x) -> float32[4]\n output a", "a = opaque \"S\"(x) -> float32[4]\n output a"));
  CHECK(!equal_texts("a = opaque \"R\"(x) -> float32[4]\n output a", "a = opaque \"R\"(x) -> float32[?]\n output a"));
  CHECK(
      !equal_texts("a = opaque \"R\"(x, _) -> float32[4]\n output a", "a = opaque \"R\"(x) -> float32[4]\n output a"));
  CHECK(!equal_texts("a = opaque \"R\"(_, x) -> float32[4]\n output a",
                     "a = opaque \"R\"(x, _) -> float32[4]\n output a"));
  // One random node used twice is not two nodes.
  const std::string twins = "a = opaque \"R\"() -> float32[4]\n b = opaque \"R\"() -> float32[4]\n ";
  CHECK(equal_texts(twins + "s = sub(a, b)\n output s", twins + "s = sub(b, a)\n output s"));
  CHECK(!equal_texts(twins + "s = sub(a, b)\n output s", twins + "s = sub(a, a)\n output s"));
  CHECK(!equal_texts(twins + "s = sub(a, a)\n output s", twins + "s = sub(a, b)\n output s"));

  const auto graph_with = [](std::shared_ptr<const OpaqueBody> body) {
    Graph graph{std::make_shared<Pool>(), {}, {}};
    graph.outputs = {graph.pool->add_opaque(opaque_of("R", std::move(body)), {}).output()};
    return graph;
  };
  const Graph one = graph_with(std::make_shared<NamedBody>("one"));
  CHECK(equal(one, graph_with(std::make_shared<NamedBody>("one"))));
  CHECK(!equal(one, graph_with(std::make_shared<NamedBody>("two"))));
  CHECK(!equal(one, graph_with(nullptr)));
}

}  // namespace
}  // namespace taso::test
