// Clean-ups of operands that change nothing, of computed targets of Reshape, and of equal weights and states.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operators = std::vector<std::string>;

void name_dim(proto::ValueInfoProto& value, int axis, const std::string& name) {
  value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis)->set_dim_param(name);
}

}  // namespace

TEST_CASE("an operand that changes nothing goes") {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "zeros", {3}, {0, 0, 0});
  add_floats(graph, "ones", {1, 1}, {1});
  SECTION("added") { add_node(graph, "Add", {"x", "zeros"}, {"a"}); }
  SECTION("added to") { add_node(graph, "Add", {"zeros", "x"}, {"a"}); }
  SECTION("subtracted") { add_node(graph, "Sub", {"x", "zeros"}, {"a"}); }
  SECTION("multiplied") { add_node(graph, "Mul", {"ones", "x"}, {"a"}); }
  SECTION("divided by") { add_node(graph, "Div", {"x", "ones"}, {"a"}); }
  add_node(graph, "Relu", {"a"}, {"y"});
  const auto cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Relu"});
  CHECK(cleaned.counts.at("neutral-operand") == 1);
  CHECK(clean_without(model, "neutral-operand").operators().size() == 2);
}

TEST_CASE("an operand that changes something stays") {
  auto model = plain_model({1, 3}, {1, 3});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "zeros", {3}, {0, 0, 0});
  add_floats(graph, "ones", {2, 1}, {1, 1});
  add_floats(graph, "almost", {3}, {0, 0, 1e-30F});
  SECTION("the number is not neutral") { add_node(graph, "Add", {"x", "almost"}, {"a"}); }
  SECTION("the number is neutral on the other side only") { add_node(graph, "Sub", {"zeros", "x"}, {"a"}); }
  SECTION("the result is larger than the operand") { add_node(graph, "Mul", {"x", "ones"}, {"a"}); }
  SECTION("a result that may be larger than the operand") {
    name_dim(*graph.mutable_input(0), 1, "N");
    add_node(graph, "Add", {"x", "zeros"}, {"a"});
  }
  add_node(graph, "Relu", {"a"}, {"y"});
  CHECK(clean(model).counts.count("neutral-operand") == 0);
}

TEST_CASE("the scale by which runtimes recognise a normalisation stays") {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "ones", {3}, {1, 1, 1});
  add_floats(graph, "zeros", {3}, {0, 0, 0});
  add_floats(graph, "epsilon", {}, {0.001F});
  add_node(graph, "Mul", {"x", "x"}, {"squares"});
  set_integers(add_node(graph, "ReduceMean", {"squares"}, {"mean"}), "axes", {-1});
  add_node(graph, "Add", {"mean", "epsilon"}, {"shifted"});
  add_node(graph, "Sqrt", {"shifted"}, {"root"});
  add_node(graph, "Div", {"x", "root"}, {"normal"});
  add_node(graph, "Mul", {"ones", "normal"}, {"scaled"});
  SECTION("of the root of squares") { add_node(graph, "Relu", {"scaled"}, {"y"}); }
  SECTION("with a shift") {
    add_node(graph, "Add", {"scaled", "zeros"}, {"sum"});
    add_node(graph, "Relu", {"sum"}, {"y"});
  }
  CHECK(clean(model).counts.count("neutral-operand") == 0);
}

TEST_CASE("a computed target of Reshape becomes a constant") {
  auto model = plain_model({2, 6}, {2, 3, 2});
  auto& graph = *model.mutable_graph();
  name_dim(*graph.mutable_input(0), 0, "N");
  name_dim(*graph.mutable_output(0), 0, "N");
  add_integers(graph, "first", {}, {0});
  add_integers(graph, "axis", {1}, {0});
  add_integers(graph, "rest", {2}, {3, 2});
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "first"}, {"n"});
  add_node(graph, "Unsqueeze", {"n", "axis"}, {"row"});
  set_integer(add_node(graph, "Concat", {"row", "rest"}, {"target"}), "axis", 0);
  auto& reshape = add_node(graph, "Reshape", {"x", "target"}, {"y"});
  SECTION("an extent that stays is 0") {}
  SECTION("even if 0 meant 0") { set_integer(reshape, "allowzero", 1); }
  const auto cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Reshape"});
  REQUIRE(cleaned.graph().initializer_size() == 1);
  CHECK(read_tensor(cleaned.graph().initializer(0), {}).integers() == std::vector<std::int64_t>{0, 3, 2});
  CHECK(cleaned.graph().node(0).attribute_size() == 0);
  CHECK(clean_without(model, "reshape-targets").operators().size() == 5);
}

TEST_CASE("one extent that moves is -1, two are not") {
  auto model = plain_model({2, 6}, {6, 2});
  auto& graph = *model.mutable_graph();
  name_dim(*graph.mutable_input(0), 0, "N");
  add_integers(graph, "swap", {2}, {1, 0});
  set_integer(add_node(graph, "Shape", {"x"}, {"shape"}), "start", 0);
  add_node(graph, "Gather", {"shape", "swap"}, {"target"});
  add_node(graph, "Reshape", {"x", "target"}, {"y"});
  model.mutable_opset_import(0)->set_version(17);
  SECTION("one") {
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Reshape"});
    CHECK(read_tensor(cleaned.graph().initializer(0), {}).integers() == std::vector<std::int64_t>{6, -1});
  }
  SECTION("two") {
    name_dim(*graph.mutable_input(0), 1, "M");
    CHECK(clean(model).counts.empty());
  }
}

TEST_CASE("equal weights become one") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "a", {2}, {1, 2});
  add_floats(graph, "b", {2}, {1, 2});
  add_floats(graph, "c", {2}, {1, 3});
  add_floats(graph, "d", {1, 2}, {1, 2});
  add_node(graph, "Add", {"x", "a"}, {"p"});
  add_node(graph, "Mul", {"p", "b"}, {"q"});
  add_node(graph, "Sub", {"q", "c"}, {"r"});
  SECTION("of one type and shape") {
    add_node(graph, "Squeeze", {"d"}, {"e"});
    add_node(graph, "Add", {"r", "e"}, {"y"});
    const auto cleaned = clean_without(model, "constant-folding");
    CHECK(cleaned.counts.at("equal-weights") == 1);
    CHECK(cleaned.has_initializer("a"));
    CHECK(!cleaned.has_initializer("b"));
    CHECK(cleaned.has_initializer("c"));
    CHECK(cleaned.has_initializer("d"));
  }
  SECTION("and with them the nodes that use them") {
    add_node(graph, "Add", {"x", "b"}, {"s"});
    add_node(graph, "Add", {"r", "s"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Add", "Mul", "Sub", "Add"});
  }
  SECTION("but not one that a caller may replace") {
    add_node(graph, "Identity", {"r"}, {"y"});
    declare(*graph.add_input(), "b", {2});
    CHECK(clean(model).counts.count("equal-weights") == 0);
  }
}

TEST_CASE("an initial state of zeros goes") {
  auto model = plain_model({2, 3, 4}, {2, 1, 3, 5});
  auto& graph = *model.mutable_graph();
  name_dim(*graph.mutable_input(0), 1, "N");
  name_dim(*graph.mutable_output(0), 2, "N");
  add_floats(graph, "w", {1, 15, 4}, some_floats(60));
  add_floats(graph, "r", {1, 15, 5}, some_floats(75));
  add_integers(graph, "one", {}, {1});
  add_integers(graph, "axis", {1}, {0});
  add_integers(graph, "five", {1}, {5});
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "one"}, {"n"});
  add_node(graph, "Unsqueeze", {"n", "axis"}, {"row"});
  add_integers(graph, "first", {1}, {1});
  set_integer(add_node(graph, "Concat", {"first", "row", "five"}, {"extents"}), "axis", 0);
  auto& state = add_node(graph, "ConstantOfShape", {"extents"}, {"h"});
  set_integer(add_node(graph, "GRU", {"x", "w", "r", "", "", "h"}, {"y"}), "hidden_size", 5);
  SECTION("zeros") {
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"GRU"});
    CHECK(cleaned.graph().node(0).input_size() == 3);
    CHECK(clean_without(model, "initial-state").operators().size() == 6);
  }
  SECTION("ones stay") {
    auto& value = *add_attribute(state, "value", proto::AttributeProto::TENSOR).mutable_t();
    value.set_data_type(proto::TensorProto::FLOAT);
    value.add_dims(1);
    value.add_float_data(1);
    CHECK(clean(model).counts.count("initial-state") == 0);
  }
}

}  // namespace taso::test
