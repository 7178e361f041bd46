// Views and transposes that cancel each other around element-wise nodes.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operators = std::vector<std::string>;

/// x → first → half of x times (1 + erf(x)) → last → y.
proto::ModelProto formula_between(const Dims& outside, const Dims& inside, bool is_transposed, const Dims& result) {
  auto model = plain_model(outside, result);
  auto& graph = *model.mutable_graph();
  add_floats(graph, "half", {}, {0.5F});
  add_floats(graph, "one", {1}, {1.0F});
  if (is_transposed) {
    set_integers(add_node(graph, "Transpose", {"x"}, {"a"}), "perm", {1, 2, 0});
  } else {
    add_integers(graph, "there", {static_cast<std::int64_t>(inside.size())}, inside);
    add_node(graph, "Reshape", {"x", "there"}, {"a"});
  }
  add_node(graph, "Mul", {"a", "half"}, {"b"});
  add_node(graph, "Erf", {"a"}, {"c"});
  add_node(graph, "Add", {"c", "one"}, {"d"});
  add_node(graph, "Mul", {"b", "d"}, {"e"});
  if (is_transposed) {
    set_integers(add_node(graph, "Transpose", {"e"}, {"y"}), "perm", {2, 0, 1});
  } else {
    add_integers(graph, "back", {static_cast<std::int64_t>(result.size())}, result);
    add_node(graph, "Reshape", {"e", "back"}, {"y"});
  }
  return model;
}

const Operators formula{"Mul", "Erf", "Add", "Mul"};

}  // namespace

TEST_CASE("views and transposes around a formula cancel each other") {
  for (const bool is_transposed : {false, true}) {
    const Dims inside = is_transposed ? Dims{3, 4, 2} : Dims{6, 4};
    const proto::ModelProto model = formula_between({2, 3, 4}, inside, is_transposed, {2, 3, 4});
    const Cleaned cleaned = clean(model);
    CHECK(cleaned.operators() == formula);
    CHECK(cleaned.counts.at("round-trips") == 1);
    CHECK(clean_without(model, "round-trips").operators().size() == 6);
  }
}

TEST_CASE("declared types inside do not stay") {
  proto::ModelProto model = formula_between({2, 3, 4}, {6, 4}, false, {2, 3, 4});
  for (const char* name : {"a", "b", "c", "d", "e"}) declare(*model.mutable_graph()->add_value_info(), name, {6, 4});
  const Cleaned cleaned = clean(model);
  CHECK(cleaned.operators() == formula);
  CHECK(cleaned.graph().value_info_size() == 0);
}

TEST_CASE("views stay where they do not cancel, or something else uses what is inside") {
  proto::ModelProto model = formula_between({2, 3, 4}, {6, 4}, false, {2, 3, 4});
  proto::GraphProto& graph = *model.mutable_graph();
  SECTION("another shape behind") { model = formula_between({2, 3, 4}, {6, 4}, false, {4, 6}); }
  SECTION("a value inside is used outside") {
    add_node(graph, "Exp", {"d"}, {"z"});
    declare(*graph.add_output(), "z", {6, 4});
  }
  SECTION("an operand has a number for each column") {
    graph.mutable_initializer()->DeleteSubrange(1, 1);
    add_floats(graph, "one", {4}, {1, 2, 3, 4});
  }
  SECTION("an operand would raise the rank") {
    model = formula_between({24}, {6, 4}, false, {24});
    model.mutable_graph()->mutable_initializer()->DeleteSubrange(1, 1);
    add_floats(*model.mutable_graph(), "one", {1, 1}, {1});
  }
  SECTION("a node inside is not element-wise") { graph.mutable_node(2)->set_op_type("Softmax"); }
  const Cleaned cleaned = clean(model);
  CHECK(cleaned.counts.count("round-trips") == 0);
  CHECK(cleaned.operators().size() >= 6);
}

TEST_CASE("a view that others use stays for them") {
  proto::ModelProto model = formula_between({2, 3, 4}, {6, 4}, false, {2, 3, 4});
  proto::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "w", {4, 2}, some_floats(8));
  add_node(graph, "MatMul", {"a", "w"}, {"z"});
  declare(*graph.add_output(), "z", {6, 2});
  const Cleaned cleaned = clean(model);
  const Operators operators = cleaned.operators();
  CHECK(std::count(operators.begin(), operators.end(), "Reshape") == 1);
  CHECK(operators.size() == 6);
}

TEST_CASE("two operands that were viewed alike") {
  auto model = plain_model({2, 3, 4}, {2, 3, 4});
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "z", {2, 3, 4});
  add_integers(graph, "there", {2}, {6, 4});
  add_integers(graph, "back", {3}, {2, 3, 4});
  add_node(graph, "Reshape", {"x", "there"}, {"a"});
  add_node(graph, "Reshape", {"z", "there"}, {"b"});
  add_node(graph, "Add", {"a", "b"}, {"c"});
  add_node(graph, "Reshape", {"c", "back"}, {"y"});
  CHECK(clean(model).operators() == Operators{"Add"});
}

TEST_CASE("round trips in sequence, at open sizes") {
  auto model = plain_model({-1, 3, 4}, {-1, 3, 4});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "there", {2}, {-1, 4});
  add_integers(graph, "back", {3}, {-1, 3, 4});
  std::string before = "x";
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i), after = i == 4 ? "y" : "t" + number;
    add_node(graph, "Reshape", {before, "there"}, {"a" + number});
    add_node(graph, i % 2 == 0 ? "Tanh" : "Relu", {"a" + number}, {"b" + number});
    add_node(graph, "Reshape", {"b" + number, "back"}, {after});
    before = after;
  }
  const Operators operators = clean(model).operators();
  CHECK(std::count(operators.begin(), operators.end(), "Reshape") <= 2);
}

}  // namespace taso::test
