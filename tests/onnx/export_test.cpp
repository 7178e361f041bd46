// From graphs back to ONNX: changed models compute the changed graph, and random graphs survive export and import.
#include "onnx/export/export.h"

#include "ops/text/graph_text.h"
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

struct Exported {
  Model before, after;
};

/// Exports the graph that `change` makes of the imported one, and requires that the model computes that graph.
template <class Change>
Exported change_model(const proto::ModelProto& proto, Change&& change) {
  Model original(proto, {});
  original.validate();
  Model model = original.copy();
  auto edit = std::make_unique<GraphEdit>(model);
  const ImportedModel imported = import_model(edit->view());
  Graph graph = imported.graph;
  change(graph, imported.values);
  export_graph(imported, graph, *edit);
  model = GraphEdit::commit(std::move(edit), std::move(model));
  REQUIRE_NOTHROW(model.validate());

  std::vector<Array> operands;
  Random random(1);
  for (const Value& input : graph.inputs)
    operands.push_back(test::random_array(random, input.type().element, *static_extents(input.shape())));
  const auto expected = runtime::interpret(graph, operands);
  const auto actual = runtime::interpret(import_model(view_of(model)).graph, operands);
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double worst = 0;
    CHECK(agrees(expected[i], actual[i], Tolerance::of(expected[i].type()), worst));
  }
  return {std::move(original), std::move(model)};
}

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> result;
  for (const auto& node : model.proto().graph().node()) result.push_back(node.op_type());
  return result;
}

using Operators = std::vector<std::string>;

/// y = exp(relu(relu(x)) + w), z = (x + w) + relu(x), with untouched nodes besides.
proto::ModelProto two_outputs() {
  auto model = plain_model({4, 3}, {4, 3});
  auto& graph = *model.mutable_graph();
  declare(*graph.add_output(), "z", {4, 3});
  add_floats(graph, "w", {3}, {1, 2, 3});
  add_node(graph, "Relu", {"x"}, {"r"}, "first");
  add_node(graph, "Relu", {"r"}, {"rr"}, "second");
  add_node(graph, "Add", {"rr", "w"}, {"s"}, "sum");
  add_node(graph, "Exp", {"s"}, {"y"}, "exp");
  add_node(graph, "Add", {"x", "w"}, {"t"}, "other sum");
  add_node(graph, "Add", {"t", "r"}, {"z"}, "last");
  return model;
}

}  // namespace

TEST_CASE("an unchanged graph changes nothing") {
  const auto [before, after] = change_model(two_outputs(), [](Graph&, const auto&) {});
  CHECK(before.serialise() == after.serialise());
}

TEST_CASE("a changed output is written again, the rest stays") {
  const auto [before, after] = change_model(two_outputs(), [](Graph& graph, const auto& values) {
    const Value sum = graph.pool->apply(op::Add{}, {values.at("r"), values.at("w")});
    graph.outputs[0] = graph.pool->apply(op::Exp{}, {sum});
  });
  CHECK(operators(after).size() == 5);
  int kept = 0;
  for (const auto& node : after.proto().graph().node())
    for (const auto& old : before.proto().graph().node())
      if (node.SerializeAsString() == old.SerializeAsString()) ++kept;
  CHECK(kept == 3);  // the first Relu, and the nodes of the other output
  for (const auto& node : after.proto().graph().node()) CHECK(!node.name().empty());
}

TEST_CASE("reassociated sums") {
  change_model(two_outputs(), [](Graph& graph, const auto& values) {
    const Value inner = graph.pool->apply(op::Add{}, {values.at("w"), values.at("r")});
    graph.outputs[1] = graph.pool->apply(op::Add{}, {values.at("x"), inner});
  });
}

TEST_CASE("outputs that exchange their values") {
  const auto [before, after] =
      change_model(two_outputs(), [](Graph& graph, const auto&) { std::swap(graph.outputs[0], graph.outputs[1]); });
  CHECK(operators(after).size() == 8);
}

TEST_CASE("an output that is a value of the model already") {
  SECTION("inside") {
    const auto [before, after] =
        change_model(two_outputs(), [](Graph& graph, const auto& values) { graph.outputs[0] = values.at("t"); });
    CHECK(operators(after) == Operators{"Relu", "Add", "Add", "Identity"});
  }
  SECTION("an input") {
    change_model(two_outputs(), [](Graph& graph, const auto& values) { graph.outputs[0] = values.at("x"); });
  }
  SECTION("the other output") {
    change_model(two_outputs(), [](Graph& graph, const auto&) { graph.outputs[0] = graph.outputs[1]; });
  }
  SECTION("a part of the old output") {
    change_model(two_outputs(), [](Graph& graph, const auto& values) {
      graph.outputs[1] = graph.pool->apply(op::Mul{}, {graph.outputs[0], values.at("rr")});
    });
  }
}

TEST_CASE("a part of a split that the model has no name for") {
  auto model = plain_model({6, 2}, {2, 2});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "lengths", {3}, {1, 2, 3});
  set_integer(add_node(graph, "Split", {"x", "lengths"}, {"a", "b", "c"}), "axis", 0);
  add_node(graph, "Relu", {"b"}, {"y"});
  change_model(model, [](Graph& changed, const auto& values) {
    // Cut in two, and again in two: the rest after the first cut is not among the results.
    const ops::Node* first = values.at("a").node;
    REQUIRE(first->outputs().size() == 2);
    changed.outputs[0] = changed.pool->apply(op::Exp{}, {first->output(1)});
  });
}

TEST_CASE("equal parts of unknown length are cut without lengths") {
  for (const std::int64_t opset : {7, 11, 13, 17, 18, 21}) {
    INFO("opset " << opset);
    const Graph graph = parse_graph(
        "graph\n  input x: float32[N, 4]\n  input y: float32[N, 4]\n  j = concat[axis=0](x, y)\n"
        "  a, b = split[axis=0, at=N](j)\n  s = sub(a, b)\n  output s\n");
    Model model = write_model(graph, {.opset = opset});
    REQUIRE_NOTHROW(model.validate());
    CHECK(equal(import_model(view_of(model)).graph, graph));
  }
  // Different extents would need their lengths.
  const Graph different = parse_graph(
      "graph\n  input x: float32[N, 4]\n  input y: float32[M, 4]\n  j = concat[axis=0](x, y)\n"
      "  a, b = split[axis=0, at=N](j)\n  s = tanh(a)\n  t = tanh(b)\n  output s, t\n");
  CHECK_THROWS_AS(write_model(different, {.opset = 17}), InputError);
}

TEST_CASE("an empty dimension is not written beside one that is copied") {
  const Graph graph = parse_graph("graph\n  input x: float32[N, 0, 3]\n  y = reshape[shape=[N, 0]](x)\n  output y\n");
  CHECK_THROWS_AS(write_model(graph, {.opset = 17}), InputError);
  const Graph known = parse_graph("graph\n  input x: float32[2, 0, 3]\n  y = reshape[shape=[2, 0]](x)\n  output y\n");
  CHECK(equal(import_model(view_of(write_model(known, {.opset = 17}))).graph, known));
}

TEST_CASE("below IR 4 new constants are nodes") {
  auto model = two_outputs();
  model.set_ir_version(3);
  declare(*model.mutable_graph()->add_input(), "w", {3});
  const auto [before, after] = change_model(model, [](Graph& graph, const auto& values) {
    const Value two = graph.pool->constant("two", Type{ElementType::float32, Shape{}},
                                           std::make_shared<HeldWeight>(Array::scalar(2.0F)));
    graph.outputs[0] = graph.pool->apply(op::ScalarMul{}, {values.at("rr"), two});
  });
  CHECK(after.proto().graph().initializer_size() == 1);
}

TEST_CASE("an output that no node computes cannot be changed") {
  auto proto = two_outputs();
  proto.mutable_graph()->mutable_output(0)->set_name("x");
  Model model(proto, {});
  model.validate();
  GraphEdit edit(model);
  const ImportedModel imported = import_model(edit.view());
  Graph graph = imported.graph;
  graph.outputs[0] = graph.outputs[1];
  CHECK_THROWS_AS(export_graph(imported, graph, edit), InputError);
}

TEST_CASE("random graphs survive export and import at every opset that can express them") {
  std::map<std::int64_t, int> written;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomGraphOptions options;
    options.element = seed % 5 == 0 ? ElementType::float64 : ElementType::float32;
    options.nodes = 1 + seed % 6;
    const Graph graph = random_graph(seed, options);
    const std::int64_t opset = 7 + static_cast<std::int64_t>(seed % 19);
    INFO("seed " << seed << ", opset " << opset);
    std::optional<Model> model;
    try {
      model.emplace(write_model(graph, {.opset = opset}));
    } catch (const InputError&) {
      continue;  // this opset cannot express it
    }
    ++written[opset];
    REQUIRE_NOTHROW(model->validate());
    Random random(seed + 1);
    std::vector<Array> operands;
    for (const Value& input : graph.inputs)
      operands.push_back(test::random_array(random, input.type().element, *static_extents(input.shape())));
    const auto expected = runtime::interpret(graph, operands);
    const auto actual = runtime::interpret(import_model(view_of(*model)).graph, operands);
    REQUIRE(expected.size() == actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double worst = 0;
      INFO("output " << i);
      CHECK(agrees(expected[i], actual[i], Tolerance::of(expected[i].type()), worst));
    }
  }
  for (std::int64_t opset = 7; opset <= 25; ++opset) {
    INFO("opset " << opset);
    CHECK(written[opset] > 5);
  }
}

}  // namespace taso::test
