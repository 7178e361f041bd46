#include "runtime/session/variants.h"

#include <algorithm>

#include "onnx/cleanup/cleanup.h"
#include "onnx/model/external_data.h"
#include "runtime/host/interpreter.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

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
  const std::vector<Array> results = runtime::interpret(*graph, std::span(&x, 1), {1});
  for (int i = 0; i < 4; ++i)
    CHECK(reinterpret_cast<const float*>(results[0].data())[i] == 0.5F + static_cast<float>(i));

  SECTION("and the model itself is as it was") {
    CHECK(model.proto().graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "n");
  }
}

}  // namespace taso::test
