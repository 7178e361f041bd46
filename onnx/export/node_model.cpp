#include "onnx/export/node_model.h"

#include <fmt/format.h>

#include "onnx/export/value_type.h"
#include "onnx/import/view.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {
namespace {

/// IR versions that newer types need, and that everything reads.
std::int64_t ir_version_of(std::int64_t opset) { return opset >= 21 ? 10 : 8; }

void add_copy(const BodyParts& body, const NodeModel& around, std::size_t copy, proto::GraphProto& graph) {
  proto::NodeProto& node = *graph.add_node();
  node.set_op_type(body.node.op_type());
  node.set_domain(body.node.domain());
  node.set_name(fmt::format("node{}", copy));
  node.mutable_attribute()->CopyFrom(body.node.attribute());
  for (std::size_t i = 0; i < around.operands.size(); ++i) {
    node.add_input(around.operands[i] ? fmt::format("x{}_{}", copy, i) : "");
    if (!around.operands[i]) continue;
    const std::string& name = node.input(static_cast<int>(i));
    if (const std::optional<Array> content = around.content(copy, i)) {
      *graph.add_initializer() = write_tensor(*content, name);
    } else {
      graph.add_input()->set_name(name);
      write_type(*around.operands[i], *graph.mutable_input(graph.input_size() - 1));
    }
  }
  for (std::size_t i = 0; i < around.results.size(); ++i) {
    // ONNX requires most results to be named, used or not.
    const bool is_named =
        static_cast<int>(i) < body.node.output_size() && !body.node.output(static_cast<int>(i)).empty();
    node.add_output(is_named ? fmt::format("y{}_{}", copy, i) : "");
    if (!around.results[i]) continue;
    graph.add_output()->set_name(node.output(static_cast<int>(i)));
    write_type(*around.results[i], *graph.mutable_output(graph.output_size() - 1));
  }
}

}  // namespace

Model write_node(const BodyParts& node, const NodeModel& around) {
  constexpr std::int64_t usual_opset = 17;
  const bool is_default = is_default_domain(node.node.domain());
  proto::ModelProto model;
  model.set_ir_version(ir_version_of(is_default ? node.opset : usual_opset));
  model.set_producer_name("taso");
  model.add_opset_import()->set_version(is_default ? node.opset : usual_opset);
  if (!is_default) {
    auto& domain = *model.add_opset_import();
    domain.set_domain(node.node.domain());
    domain.set_version(node.opset);
  }
  model.mutable_graph()->set_name("node");
  for (std::size_t copy = 0; copy < around.copies; ++copy) add_copy(node, around, copy, *model.mutable_graph());
  return Model(std::move(model), node.folder);
}

}  // namespace taso::onnx
