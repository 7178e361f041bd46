// Products that ONNX Runtime made flat are products of all axes again.
#include "runtime/session/flat_products.h"

#include <functional>

#include "onnx/cleanup/cleanup.h"
#include "onnx/model/external_data.h"
#include "runtime/host/interpreter.h"
#include "runtime/session/run_form.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

constexpr std::int64_t depth = 4, hidden = 6;
constexpr const char* rows[] = {"gemm_input_reshape_arg", "gemm_input_reshape_arg_token_1"};  // ONNX Runtime's names
const std::vector<std::int64_t> sizes{2, 3, depth};

void add_target(proto::GraphProto& graph, const char* name, const std::vector<std::int64_t>& numbers) {
  proto::TensorProto& target = *graph.add_initializer();
  target.set_name(name);
  target.set_data_type(proto::TensorProto::INT64);
  target.add_dims(static_cast<std::int64_t>(numbers.size()));
  for (const std::int64_t number : numbers) target.add_int64_data(number);
}

void add_weight(proto::GraphProto& graph, const char* name, const std::vector<std::int64_t>& extents) {
  proto::TensorProto& weight = *graph.add_initializer();
  weight.set_name(name);
  weight.set_data_type(proto::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) weight.add_dims(extent), count *= extent;
  for (const float number : random_floats(static_cast<std::size_t>(count), 7)) weight.add_float_data(number);
}

/// Two products, a function between them and a residual behind them, as ONNX Runtime's MatMulAddFusion leaves them.
proto::ModelProto flat(const char* function = "Softmax") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", sizes);
  declare(*graph.add_output(), "y", sizes);
  add_target(graph, "rows", {-1, depth});
  add_target(graph, "wide rows", {-1, hidden});
  add_target(graph, "apart", {2, 3, hidden});
  add_target(graph, "back", {2, 3, depth});
  add_weight(graph, "w1", {depth, hidden});
  add_weight(graph, "b1", {hidden});
  add_weight(graph, "w2", {hidden, depth});
  add_node(graph, "Reshape", {"x", "rows"}, {rows[0]});
  add_node(graph, "Gemm", {rows[0], "w1", "b1"}, {"b"});
  declare(*graph.add_value_info(), "b", {6, hidden});
  add_node(graph, "Reshape", {"b", "apart"}, {"c"});
  add_node(graph, function, {"c"}, {"d"});
  add_node(graph, "Reshape", {"d", "wide rows"}, {rows[1]});
  add_node(graph, "Gemm", {rows[1], "w2"}, {"f"});
  add_node(graph, "Reshape", {"f", "back"}, {"g"});
  add_node(graph, "Add", {"g", "x"}, {"y"});
  return model;
}

std::size_t unflattened(const std::function<void(proto::GraphProto&)>& change) {
  proto::ModelProto proto = flat();
  change(*proto.mutable_graph());
  onnx::Model model(std::move(proto), onnx::no_folder);
  onnx::GraphEdit edit(model);
  return runtime::unflatten_products(edit);
}

proto::NodeProto& gemm(proto::GraphProto& graph) { return *graph.mutable_node(1); }

}  // namespace

TEST_CASE("flat products become products of all axes, and compute the same") {
  onnx::Model model(flat(), onnx::no_folder);
  onnx::GraphEdit as_it_is(model), edit(model);
  REQUIRE(runtime::unflatten_products(edit) == 2);
  std::vector<std::string> types;
  for (const proto::NodeProto* node : edit.view().nodes) types.push_back(node->op_type());
  CHECK(types == std::vector<std::string>{"MatMul", "Add", "Softmax", "MatMul", "Add"});
  CHECK(runtime::unflatten_products(edit) == 0);
  onnx::clean_up(edit);
  const std::vector<Array> inputs{Array::of<float>(sizes, random_floats(24, 1))};
  const auto expected = runtime::interpret(as_it_is.imported()->graph, inputs),
             found = runtime::interpret(edit.imported()->graph, inputs);
  CHECK(identical(found[0], expected[0]));
}

TEST_CASE("models run with products of all axes, also if the reshapes between them could go") {
  onnx::Model model(flat("Relu"), onnx::no_folder);
  onnx::GraphEdit edit(model);
  runtime::bring_into_run_form(edit);
  std::vector<std::string> types;
  for (const proto::NodeProto* node : edit.view().nodes) types.push_back(node->op_type());
  CHECK(types == std::vector<std::string>{"MatMul", "Add", "Relu", "MatMul", "Add"});
}

TEST_CASE("other products between reshapes stay") {
  CHECK(unflattened([](proto::GraphProto&) {}) == 2);
  const auto with_attribute = [](const char* name, float value) {
    return unflattened(
        [&](proto::GraphProto& graph) { add_attribute(gemm(graph), name, proto::AttributeProto::FLOAT).set_f(value); });
  };
  CHECK(with_attribute("alpha", 2) == 1);
  CHECK(with_attribute("beta", 0.5F) == 1);
  CHECK(with_attribute("alpha", 1) == 2);
  CHECK(unflattened([](proto::GraphProto& graph) { gemm(graph).set_domain("other"); }) == 1);
  CHECK(unflattened([](proto::GraphProto& graph) {  // an exporter's own
          graph.mutable_node(0)->set_output(0, "a");
          gemm(graph).set_input(0, "a");
        }) == 1);
  CHECK(unflattened([](proto::GraphProto& graph) {  // each row has a bias of its own
          graph.mutable_initializer(5)->clear_dims();
          graph.mutable_initializer(5)->add_dims(6);
          graph.mutable_initializer(5)->add_dims(1);
        }) == 1);
  CHECK(unflattened([](proto::GraphProto& graph) {  // the flat result is needed, too
          declare(*graph.add_output(), "b", {6, hidden});
        }) == 1);
  CHECK(unflattened([](proto::GraphProto& graph) {  // between the products, the rows are others
          graph.mutable_initializer(2)->set_int64_data(0, 3);
          graph.mutable_initializer(2)->set_int64_data(1, 2);
        }) == 0);
  CHECK(unflattened([](proto::GraphProto& graph) {
          add_attribute(gemm(graph), "transB", proto::AttributeProto::INT).set_i(1);
          *graph.mutable_initializer(4)->mutable_dims() = {};
          graph.mutable_initializer(4)->add_dims(hidden);
          graph.mutable_initializer(4)->add_dims(depth);
        }) == 1);
}

}  // namespace taso::test
