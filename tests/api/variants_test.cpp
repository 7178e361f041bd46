#include "runtime/session/variants.h"

#include <algorithm>

#include "onnx/cleanup/cleanup.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {
namespace {

/// y = x + [0, 1, 2, …], for any number of elements: the numbers are computed from the size.
proto::ModelProto counting() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  for (proto::ValueInfoProto* value : {graph.add_input(), graph.add_output()}) {
    declare(*value, value == &graph.input(0) ? "x" : "y", {});
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("n");
  }
  const auto add_number = [&](const char* name, std::int64_t number) {
    proto::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(proto::TensorProto::INT64);
    tensor.add_int64_data(number);
  };
  add_number("zero", 0);
  add_number("one", 1);
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"size"});
  add_node(graph, "Range", {"zero", "size", "one"}, {"numbers"});
  add_attribute(add_node(graph, "Cast", {"numbers"}, {"floats"}), "to", proto::AttributeProto::INT)
      .set_i(proto::TensorProto::FLOAT);
  add_node(graph, "Add", {"x", "floats"}, {"y"});
  return model;
}

std::ptrdiff_t opaque_nodes(const Graph& graph) {
  const auto nodes = graph.nodes();
  return std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return node->as_opaque() != nullptr; });
}

}  // namespace

TEST_CASE("with numbers in place of unknown sizes, what a model computes of them is constant") {
  onnx::Model model(counting(), onnx::no_folder);
  model.validate();
  const runtime::Signature signature(model);
  const runtime::Variants variants(signature, 8);
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  CHECK(opaque_nodes(edit.imported()->graph) > 0);

  const std::shared_ptr<const Graph> graph = variants.with_sizes(model, {{"n", 4}});
  CHECK(opaque_nodes(*graph) == 0);
  REQUIRE(graph->inputs.size() == 1);
  CHECK(static_extents(*graph->inputs[0].type().shape) == Extents{4});
  Array x(ElementType::float32, {4});
  for (int i = 0; i < 4; ++i) reinterpret_cast<float*>(x.mutable_data())[i] = 0.5F;
  const std::vector<Array> results = runtime::interpret(*graph, {x}, {1});
  for (int i = 0; i < 4; ++i) CHECK(reinterpret_cast<const float*>(results[0].data())[i] == 0.5F + static_cast<float>(i));

  SECTION("and the model itself is as it was") {
    CHECK(model.proto().graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "n");
  }
}

}  // namespace taso::test
