// Clean-ups of nodes in sequence, and of constants that several nodes compute.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operators = std::vector<std::string>;

}  // namespace

TEST_CASE("views in sequence become one") {
  auto model = plain_model({2, 1, 6}, {3, 4});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "wide", {2}, {2, 6});
  add_integers(graph, "narrow", {2}, {3, 4});
  add_integers(graph, "back", {3}, {2, 1, 6});
  add_integers(graph, "axis", {1}, {0});
  SECTION("two of them") {
    add_node(graph, "Reshape", {"x", "wide"}, {"a"});
    add_node(graph, "Reshape", {"a", "narrow"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Reshape"});
    CHECK(clean_without(model, "sequences").operators().size() == 2);
  }
  SECTION("a transpose that moves an axis of extent 1 is one") {
    set_integers(add_node(graph, "Transpose", {"x"}, {"a"}), "perm", {1, 0, 2});
    add_node(graph, "Unsqueeze", {"a", "axis"}, {"b"});
    add_node(graph, "Reshape", {"b", "narrow"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Reshape"});
  }
  SECTION("another transpose is not") {
    set_integers(add_node(graph, "Transpose", {"x"}, {"a"}), "perm", {2, 1, 0});
    add_node(graph, "Reshape", {"a", "narrow"}, {"y"});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
  SECTION("not if the first is used elsewhere") {
    add_node(graph, "Reshape", {"x", "wide"}, {"a"});
    add_node(graph, "Reshape", {"a", "narrow"}, {"y"});
    add_node(graph, "Relu", {"a"}, {"z"});
    declare(*graph.add_output(), "z", {2, 6});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
  SECTION("there and back is nothing") {
    add_node(graph, "Reshape", {"x", "wide"}, {"a"});
    add_node(graph, "Reshape", {"a", "back"}, {"b"});
    add_node(graph, "Relu", {"b"}, {"c"});
    add_node(graph, "Reshape", {"c", "narrow"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Relu", "Reshape"});
  }
}

TEST_CASE("sequences by which runtimes recognise attention stay") {
  auto model = plain_model({2, 1, 6}, {2, 2, 1, 3});
  auto& graph = *model.mutable_graph();
  SECTION("the transpose behind the reshape of heads, even if it moves nothing") {
    add_integers(graph, "heads", {4}, {2, 1, 2, 3});
    add_node(graph, "Reshape", {"x", "heads"}, {"a"});
    set_integers(add_node(graph, "Transpose", {"a"}, {"y"}), "perm", {0, 2, 1, 3});
  }
  SECTION("arithmetic on shapes") {
    graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
    declare(*graph.mutable_output(0), "y", {1}, proto::TensorProto::INT64);
    add_integers(graph, "first", {}, {0});
    add_integers(graph, "axis", {1}, {0});
    add_node(graph, "Shape", {"x"}, {"shape"});
    add_node(graph, "Gather", {"shape", "axis"}, {"row"});
    add_node(graph, "Squeeze", {"row", "axis"}, {"n"});
    add_node(graph, "Unsqueeze", {"n", "axis"}, {"y"});
  }
  CHECK(clean(model).counts.count("sequences") == 0);
}

TEST_CASE("transposes in sequence become one") {
  auto model = plain_model({2, 3, 4}, {4, 3, 2});
  auto& graph = *model.mutable_graph();
  set_integers(add_node(graph, "Transpose", {"x"}, {"a"}), "perm", {1, 2, 0});
  auto& second = add_node(graph, "Transpose", {"a"}, {"b"});
  SECTION("another one") {
    set_integers(second, "perm", {1, 0, 2});
    add_node(graph, "Relu", {"b"}, {"y"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Transpose", "Relu"});
    const auto& axes = cleaned.graph().node(0).attribute(0).ints();
    CHECK(std::vector<std::int64_t>(axes.begin(), axes.end()) == std::vector<std::int64_t>{2, 1, 0});
  }
  SECTION("or none") {
    set_integers(second, "perm", {2, 0, 1});
    add_node(graph, "Relu", {"b"}, {"c"});
    set_integers(add_node(graph, "Transpose", {"c"}, {"y"}), "perm", {2, 1, 0});
    CHECK(clean(model).operators() == Operators{"Relu", "Transpose"});
  }
}

TEST_CASE("views around an element-wise node that cancel each other are omitted") {
  auto model = plain_model({6, 2, 4}, {6, 2, 4});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "apart", {4}, {3, 2, 2, 4});
  add_integers(graph, "together", {3}, {6, 2, 4});
  add_node(graph, "Reshape", {"x", "apart"}, {"a"});
  const auto add_rest = [&](const std::vector<std::int64_t>& dims, const char* op_type, bool is_second) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i) - 2.5F);
    add_floats(graph, "c", dims, numbers);
    add_node(graph, op_type, {is_second ? "c" : "a", is_second ? "a" : "c"}, {"b"});
    add_node(graph, "Reshape", {"b", "together"}, {"y"});
  };
  SECTION("with a constant that has all elements of the axes that change") {
    add_rest({3, 2, 1, 4}, "Add", false);
    CHECK(clean(model).operators() == Operators{"Add"});
  }
  SECTION("not with one that has some of them") {
    add_rest({2, 1, 4}, "Sub", true);
    CHECK(clean(model).counts.count("sequences") == 0);
  }
  SECTION("with one that lacks them") {
    add_rest({2, 1}, "Div", true);
    CHECK(clean(model).operators() == Operators{"Div"});
  }
  SECTION("not if the first view has another use") {
    add_rest({3, 2, 1, 4}, "Mul", false);
    add_node(graph, "Relu", {"a"}, {"z"});
    declare(*graph.add_output(), "z", {3, 2, 2, 4});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
}

TEST_CASE("views that join axes around a transpose and take them apart again are omitted") {
  auto model = plain_model({2, 3, 4, 5}, {2, 3, 5, 4});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "joined", {3}, {6, 4, 5});
  add_integers(graph, "apart", {4}, {2, 3, 5, 4});
  add_node(graph, "Reshape", {"x", "joined"}, {"a"});
  auto& turned = add_node(graph, "Transpose", {"a"}, {"b"});
  SECTION("the axes stay together") {
    set_integers(turned, "perm", {0, 2, 1});
    add_node(graph, "Reshape", {"b", "apart"}, {"y"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Transpose"});
    const auto& axes = cleaned.graph().node(0).attribute(0).ints();
    CHECK(std::vector<std::int64_t>(axes.begin(), axes.end()) == std::vector<std::int64_t>{0, 1, 3, 2});
  }
  SECTION("not if they are taken apart in another way") {
    set_integers(turned, "perm", {1, 0, 2});
    add_node(graph, "Reshape", {"b", "apart"}, {"y"});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
  SECTION("nor if the transpose has another use") {
    set_integers(turned, "perm", {0, 2, 1});
    add_node(graph, "Reshape", {"b", "apart"}, {"y"});
    add_node(graph, "Relu", {"b"}, {"z"});
    declare(*graph.add_output(), "z", {6, 5, 4});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
}

TEST_CASE("slices of a slice are joined with it, along other axes") {
  auto model = plain_model({4, 6}, {2, 3});
  auto& graph = *model.mutable_graph();
  for (const std::int64_t number : {0, 1, 2, 3, 4}) add_integers(graph, "n" + std::to_string(number), {1}, {number});
  add_node(graph, "Slice", {"x", "n0", "n4", "n0", "n2"}, {"a"});
  SECTION("each of them") {
    add_node(graph, "Slice", {"a", "n1", "n4", "n1"}, {"b"});
    add_node(graph, "Slice", {"a", "n0", "n3", "n1"}, {"c"});
    add_node(graph, "Add", {"b", "c"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Slice", "Slice", "Add"});
  }
  SECTION("but not if something else uses it") {
    add_node(graph, "Slice", {"a", "n1", "n4", "n1"}, {"y"});
    add_node(graph, "Relu", {"a"}, {"z"});
    declare(*graph.add_output(), "z", {2, 6});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
  SECTION("nor along the same axis") {
    add_node(graph, "Slice", {"a", "n0", "n1", "n0"}, {"y"});
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(6);
    CHECK(clean(model).counts.count("sequences") == 0);
  }
}

TEST_CASE("a product of matrices and a sum become a Gemm") {
  auto model = plain_model({2, 3}, {2, 4});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {3, 4}, some_floats(12));
  add_floats(graph, "b", {4}, some_floats(4, 3));
  add_floats(graph, "many", {5, 2, 4}, some_floats(40));
  add_node(graph, "MatMul", {"x", "w"}, {"p"});
  SECTION("a row") {
    add_node(graph, "Add", {"b", "p"}, {"y"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Gemm"});
    CHECK(cleaned.graph().node(0).input(2) == "b");
  }
  SECTION("not if the sum is larger") {
    add_node(graph, "Add", {"many", "p"}, {"y"});
    declare(*graph.mutable_output(0), "y", {5, 2, 4});
    CHECK(clean(model).counts.count("sequences") == 0);
  }
}

TEST_CASE("constants that several nodes compute are folded together, if the file does not grow") {
  auto model = plain_model({64, 8}, {64, 8});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {64, 8}, some_floats(512));
  for (const std::int64_t number : {0, 16, 32, 64}) add_integers(graph, "n" + std::to_string(number), {1}, {number});
  add_node(graph, "Slice", {"w", "n0", "n32", "n0"}, {"a"});
  add_node(graph, "Slice", {"w", "n32", "n64", "n0"}, {"b"});
  set_integer(add_node(graph, "Concat", {"b", "a"}, {"c"}), "axis", 0);
  add_node(graph, "Add", {"x", "c"}, {"y"});
  CleanupOptions options;
  options.fold_limit = 0;
  SECTION("the parts of a weight in another order") {
    CHECK(clean(model, options).operators() == Operators{"Add"});
    options.disabled.insert("cluster-folding");
    CHECK(clean(model, options).operators().size() == 4);
  }
  SECTION("not if the weight is needed, too") {
    add_node(graph, "Mul", {"x", "w"}, {"z"});
    declare(*graph.add_output(), "z", {64, 8});
    CHECK(clean(model, options).operators().size() == 5);
  }
}

}  // namespace taso::test
