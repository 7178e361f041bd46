// Ifs whose condition is known: the branch that is taken stands in their place.
#include "onnx/import/taken_branches.h"
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Operators = std::vector<std::string>;

proto::NodeProto& add_choice(google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes, Names outputs) {
  proto::NodeProto& node = add_node(nodes, "If", {"c"}, outputs);
  for (const std::string_view name : {"then_branch", "else_branch"})
    add_attribute(node, name, proto::AttributeProto::GRAPH).mutable_g()->set_name(std::string(name));
  return node;
}

proto::GraphProto& branch_of(proto::NodeProto& node, bool condition) {
  return *node.mutable_attribute(condition ? 0 : 1)->mutable_g();
}

/// A branch that computes its results `names` by this operator from x.
void fill(proto::GraphProto& branch, std::string_view op_type, Names names) {
  for (const auto name : names) {
    add_node(branch, op_type, {"x"}, {name});
    branch.add_output()->set_name(std::string(name));
  }
}

/// x: float[2, 3] → y, and a condition c.
proto::ModelProto model_with(bool condition) {
  proto::ModelProto model = plain_model({2, 3}, {2, 3});
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("c");
  tensor.set_data_type(proto::TensorProto::BOOL);
  tensor.set_raw_data(condition ? "\1" : std::string(1, '\0'));
  return model;
}

}  // namespace

TEST_CASE("the branch that is taken stands in the place of an If") {
  for (const bool condition : {true, false}) {
    proto::ModelProto model = model_with(condition);
    auto& node = add_choice(*model.mutable_graph()->mutable_node(), {"y"});
    fill(branch_of(node, true), "Relu", {"t"});
    fill(branch_of(node, false), "Neg", {"t"});
    const Cleaned cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{condition ? "Relu" : "Neg"});
    CHECK(cleaned.counts.at("dead-branches") == 1);
    CHECK_FALSE(cleaned.has_initializer("c"));
    CHECK(clean_without(model, "dead-branches").operators() == Operators{"If"});
  }
}

TEST_CASE("results of an If may be one value, an outer value or a weight of the branch") {
  proto::ModelProto model = model_with(true);
  auto& graph = *model.mutable_graph();
  add_node(graph, "Exp", {"x"}, {"outer"});
  auto& node = add_choice(*graph.mutable_node(), {"a", "b", "w", "o", ""});
  proto::GraphProto& taken = branch_of(node, true);
  add_floats(taken, "weight", {3}, {1, 2, 3});
  fill(taken, "Relu", {"t"});
  for (const char* name : {"t", "weight", "outer", "t"}) taken.add_output()->set_name(name);
  fill(branch_of(node, false), "Neg", {"p", "q", "r", "s", "u"});
  add_node(graph, "Add", {"a", "b"}, {"d"});
  add_node(graph, "Mul", {"d", "w"}, {"e"});
  add_node(graph, "Mul", {"e", "o"}, {"y"});
  const Cleaned cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Exp", "Relu", "Add", "Mul", "Mul"});
}

TEST_CASE("an If inside keeps the outer one if its condition is computed") {
  proto::ModelProto model = model_with(true);
  auto& graph = *model.mutable_graph();
  auto& outer = add_choice(*graph.mutable_node(), {"y"});
  proto::GraphProto& taken = branch_of(outer, true);
  add_node(taken, "ReduceMax", {"x"}, {"largest"});
  set_integer(*taken.mutable_node(0), "keepdims", 0);
  add_node(taken, "IsNaN", {"largest"}, {"d"});
  auto& inner = add_choice(*taken.mutable_node(), {"t"});
  inner.set_input(0, "d");
  fill(branch_of(inner, true), "Relu", {"u"});
  fill(branch_of(inner, false), "Neg", {"u"});
  taken.add_output()->set_name("t");
  fill(branch_of(outer, false), "Exp", {"t"});
  CHECK(clean(model).operators() == Operators{"If"});
}

TEST_CASE("an If inside with a known condition goes, too, if both have the same result") {
  for (const bool condition : {true, false}) {
    proto::ModelProto model = model_with(condition);
    auto& outer = add_choice(*model.mutable_graph()->mutable_node(), {"y"});
    for (const bool is_first : {true, false}) {
      proto::GraphProto& branch = branch_of(outer, is_first);
      auto& inner = add_choice(*branch.mutable_node(), {"y"});
      fill(branch_of(inner, true), is_first ? "Relu" : "Exp", {"y"});
      fill(branch_of(inner, false), is_first ? "Neg" : "Sigmoid", {"y"});
      branch.add_output()->set_name("y");
    }
    const Cleaned cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{condition ? "Relu" : "Sigmoid"});
  }
}

TEST_CASE("a model is read with the branches that are taken, and names inside do not leave them") {
  proto::ModelProto proto = model_with(true);
  auto& graph = *proto.mutable_graph();
  add_node(graph, "Exp", {"x"}, {"t"});
  auto& node = add_choice(*graph.mutable_node(), {"z"});
  proto::GraphProto& taken = branch_of(node, true);
  add_node(taken, "Relu", {"x"}, {"t"});
  add_node(taken, "Neg", {"t"}, {"s"});
  taken.add_output()->set_name("s");
  fill(branch_of(node, false), "Neg", {"t"});
  add_node(graph, "Add", {"t", "z"}, {"y"});
  const Model model(proto, {});
  const ModelView view = view_of(model);
  CHECK(decided_branches(view, [](const std::string&) { return false; }).empty());
  const Decisions decisions = decided_branches(view, [](const std::string& result) { return result == "z"; });
  REQUIRE(decisions.size() == 1);
  const ImportedModel imported = import_with_branches(view, decisions);
  for (const Node* one : imported.graph.nodes()) CHECK(one->as_opaque() == nullptr);
  CHECK(imported.values.contains("z/t"));
  CHECK_FALSE(imported.values.at("z/t") == imported.values.at("t"));
}

}  // namespace taso::test
