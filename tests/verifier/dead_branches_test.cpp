// A certificate shows that the branch of an If that stands in its place is the one that is always taken.
#include "onnx/cleanup/cleanup.h"
#include "onnx/model/proto.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "verifier/replay/replay_certificate.h"

namespace taso::test {

namespace {

/// y = Relu(x) or Neg(x), as the constant c says; names inside are also names of the main graph.
proto::ModelProto model_with_branches() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {2, 3});
  declare(*graph.add_output(), "y", {2, 3});
  auto& condition = *graph.add_initializer();
  condition.set_name("c");
  condition.set_data_type(proto::TensorProto::BOOL);
  condition.set_raw_data("\1");
  proto::NodeProto& node = add_node(graph, "If", {"c"}, {"z"});
  for (const bool is_first : {true, false}) {
    auto& branch =
        *add_attribute(node, is_first ? "then_branch" : "else_branch", proto::AttributeProto::GRAPH).mutable_g();
    branch.set_name("branch");
    add_node(branch, is_first ? "Relu" : "Neg", {"x"}, {"t"});
    add_node(branch, "Exp", {"t"}, {"u"});
    branch.add_output()->set_name("u");
  }
  add_node(graph, "Sigmoid", {"z"}, {"y"});
  return model;
}

}  // namespace

TEST_CASE("a taken branch is certified, and the other one is refused") {
  onnx::Model before(model_with_branches(), {});
  before.validate();
  onnx::Model copy = before.copy();
  auto edit = std::make_unique<onnx::GraphEdit>(copy);
  std::vector<onnx::CleanupAction> actions;
  onnx::CleanupOptions options;
  onnx::clean_up(*edit, options, &actions);
  rules::RewriteCertificate certificate;
  certificate.fold_limit = options.fold_limit;
  for (const onnx::CleanupAction& action : actions) certificate.before.push_back({std::string(action.pass), action.at});
  onnx::Model after = onnx::GraphEdit::commit(std::move(edit), std::move(copy));
  const auto verdict = verifier::replay_certificate(certificate, before, after, {});
  INFO(verdict.reason);
  CHECK(verdict.accepted);

  auto& nodes = *after.mutable_proto().mutable_graph()->mutable_node();
  REQUIRE(nodes.size() == 3);
  nodes[0].set_op_type("Neg");  // which the other branch has
  CHECK_FALSE(verifier::replay_certificate(certificate, before, after, {}).accepted);
}

}  // namespace taso::test
