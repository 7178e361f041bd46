// Clean-ups of the wiring: what they do, and what they must leave alone.
#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {
namespace {

using Operators = std::vector<std::string>;

void import_domain(proto::ModelProto& model, std::string_view domain) {
  auto& opset = *model.add_opset_import();
  opset.set_domain(std::string(domain));
  opset.set_version(1);
}

proto::NodeProto& add_custom(proto::ModelProto& model, Names inputs, Names outputs) {
  if (model.opset_import_size() == 1) import_domain(model, "test.custom");
  auto& node = add_node(*model.mutable_graph(), "Custom", inputs, outputs);
  node.set_domain("test.custom");
  return node;
}

/// y = If(condition): both branches compute `body`.
proto::NodeProto& add_if(proto::ModelProto& model, std::string_view output, const proto::GraphProto& body) {
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "condition", {}, proto::TensorProto::BOOL);
  auto& node = add_node(graph, "If", {"condition"}, {output});
  for (const std::string_view name : {"then_branch", "else_branch"})
    *add_attribute(node, name, proto::AttributeProto::GRAPH).mutable_g() = body;
  return node;
}

proto::GraphProto body_with(std::string_view op_type, Names inputs) {
  proto::GraphProto body;
  body.set_name("body");
  add_node(body, op_type, inputs, {"inner"});
  declare(*body.add_output(), "inner", {2});
  return body;
}

}  // namespace

TEST_CASE("identities are removed, and the node that computes an output takes its name") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Identity", {"x"}, {"a"});
  add_node(graph, "Relu", {"a"}, {"b"});
  add_node(graph, "Identity", {"b"}, {"c"});
  add_node(graph, "Identity", {"c"}, {"y"});
  const auto cleaned = clean(model);
  CHECK(cleaned.operators() == Operators{"Relu"});
  CHECK(cleaned.graph().node(0).input(0) == "x");
  CHECK(cleaned.graph().node(0).output(0) == "y");
  CHECK(cleaned.counts == std::map<std::string, std::size_t>{{"identity", 3}});
  CHECK(clean_without(model, "identity").graph().node_size() >= 3);
}

TEST_CASE("an identity between the model's own names stays") {
  SECTION("from input to output") {
    auto model = plain_model({2}, {2});
    add_node(*model.mutable_graph(), "Identity", {"x"}, {"y"});
    CHECK(clean(model).counts.empty());
  }
  SECTION("from a constant to an output") {
    auto model = plain_model({2}, {2});
    add_floats(*model.mutable_graph(), "w", {2}, {1, 2});
    add_node(*model.mutable_graph(), "Identity", {"w"}, {"y"});
    const auto cleaned = clean(model);  // instead, the constant is folded into a Constant node
    CHECK(cleaned.graph().node_size() == 1);
    CHECK(cleaned.graph().node(0).output(0) == "y");
  }
  SECTION("between two outputs") {
    auto model = plain_model({2}, {2});
    auto& graph = *model.mutable_graph();
    declare(*graph.add_output(), "z", {2});
    add_node(graph, "Relu", {"x"}, {"y"});
    add_node(graph, "Identity", {"y"}, {"z"});
    CHECK(clean(model).counts.empty());
  }
  SECTION("two outputs of one value") {
    auto model = plain_model({2}, {2});
    auto& graph = *model.mutable_graph();
    declare(*graph.add_output(), "z", {2});
    add_node(graph, "Relu", {"x"}, {"r"});
    add_node(graph, "Identity", {"r"}, {"y"});
    add_node(graph, "Identity", {"r"}, {"z"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Relu", "Identity"});
  }
}

TEST_CASE("subgraphs that capture a value follow it") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Relu", {"x"}, {"r"});
  add_node(graph, "Identity", {"r"}, {"i"});
  SECTION("plainly") {
    add_if(model, "y", body_with("Neg", {"i"}));
    const auto cleaned = clean(model, {}, Runs::no);
    CHECK(cleaned.operators() == Operators{"Relu", "If"});
    CHECK(cleaned.graph().node(1).attribute(0).g().node(0).input(0) == "r");
    CHECK(cleaned.graph().node(1).attribute(1).g().node(0).input(0) == "r");
  }
  SECTION("not if the new name means something else inside") {
    auto body = body_with("Add", {"i", "r"});
    add_floats(body, "r", {2}, {5, 6});
    add_if(model, "y", body);
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Identity", "If"});
  }
  SECTION("not if it does in one branch only, while the other captures it") {
    auto& node = add_if(model, "y", body_with("Add", {"i", "r"}));
    add_floats(*node.mutable_attribute(1)->mutable_g(), "r", {2}, {5, 6});
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Identity", "If"});
  }
  SECTION("not if a sparse constant inside has that name") {
    auto body = body_with("Add", {"i", "r"});
    auto& sparse = *body.add_sparse_initializer();
    sparse.add_dims(2);
    sparse.mutable_values()->set_name("r");
    sparse.mutable_values()->set_data_type(proto::TensorProto::FLOAT);
    sparse.mutable_values()->add_dims(1);
    sparse.mutable_values()->add_float_data(5);
    sparse.mutable_indices()->set_data_type(proto::TensorProto::INT64);
    sparse.mutable_indices()->add_dims(1);
    sparse.mutable_indices()->add_int64_data(1);
    add_if(model, "y", body);
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Identity", "If"});
  }
  SECTION("a name that is shadowed inside is not a use") {
    auto body = body_with("Neg", {"i"});
    add_floats(body, "i", {2}, {5, 6});
    add_if(model, "y", body);
    const auto cleaned = clean(model, {}, Runs::no);
    CHECK(cleaned.operators() == Operators{"If"});
    CHECK(cleaned.graph().node(0).attribute(0).g().node(0).input(0) == "i");
  }
  SECTION("an output of the subgraph may be the captured value itself") {
    auto body = body_with("Neg", {"i"});
    body.mutable_output(0)->set_name("i");
    body.clear_node();
    add_if(model, "y", body);
    const auto cleaned = clean(model, {}, Runs::no);
    CHECK(cleaned.graph().node(1).attribute(0).g().output(0).name() == "r");
  }
  SECTION("duplicates that branches capture become one") {
    add_node(graph, "Relu", {"x"}, {"again"});
    add_if(model, "y", body_with("Add", {"i", "again"}));
    const auto cleaned = clean(model, {}, Runs::no);
    CHECK(cleaned.operators() == Operators{"Relu", "If"});
    CHECK(cleaned.graph().node(1).attribute(0).g().node(0).input(1) == "r");
  }
}

TEST_CASE("dropout is removed at inference only, and not if its mask is used") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  auto& training = *graph.add_initializer();
  training.set_name("training");
  training.set_data_type(proto::TensorProto::BOOL);
  add_floats(graph, "ratio", {}, {0.5F});
  add_node(graph, "Relu", {"x"}, {"r"});
  SECTION("an unused mask") {
    training.add_int32_data(0);
    add_node(graph, "Dropout", {"r", "ratio", "training"}, {"y", "mask"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Relu"});
    CHECK(cleaned.graph().initializer_size() == 0);
  }
  SECTION("a mask that is an output") {
    training.add_int32_data(0);
    declare(*graph.add_output(), "mask", {2}, proto::TensorProto::BOOL);
    add_node(graph, "Dropout", {"r", "ratio"}, {"y", "mask"});
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Dropout"});
  }
  SECTION("training") {
    training.add_int32_data(1);
    add_node(graph, "Dropout", {"r", "ratio", "training"}, {"y"});
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Dropout"});
  }
  SECTION("training that is decided at run time") {
    graph.mutable_initializer(0)->add_int32_data(0);
    declare(*graph.add_input(), "training", {}, proto::TensorProto::BOOL);
    add_node(graph, "Dropout", {"r", "ratio", "training"}, {"y"});
    CHECK(clean(model, {}, Runs::no).operators() == Operators{"Relu", "Dropout"});
  }
}

TEST_CASE("nodes that change nothing are removed") {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "shape", {2}, {0, -1});
  add_integers(graph, "zeros", {4}, {0, 0, 0, 0});
  add_integers(graph, "start", {1}, {0});
  add_integers(graph, "end", {1}, {1000});
  add_node(graph, "Reshape", {"x", "shape"}, {"a"});
  set_integers(add_node(graph, "Transpose", {"a"}, {"b"}), "perm", {0, 1});
  set_integer(add_node(graph, "Cast", {"b"}, {"c"}), "to", 1);
  add_node(graph, "Slice", {"c", "start", "end"}, {"d"});
  add_node(graph, "Pad", {"d", "zeros"}, {"e"});
  set_integer(add_node(graph, "Concat", {"e"}, {"f"}), "axis", 0);
  add_node(graph, "Relu", {"f"}, {"y"});
  SECTION("with a known shape") {
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Relu"});
    CHECK(cleaned.graph().initializer_size() == 0);
    CHECK(cleaned.counts.at("no-op") == 6);
    CHECK(clean_without(model, "no-op").graph().node_size() == 7);
  }
  SECTION("with named dimensions, if they can be compared") {
    auto& dims = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dims.mutable_dim(0)->set_dim_param("N");
    dims.mutable_dim(1)->set_dim_param("M");
    // An end of 1000 may be a real one.
    CHECK(clean(model).operators()[0] == "Slice");
    const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    graph.mutable_initializer(3)->set_raw_data(&largest, sizeof largest);
    CHECK(clean(model).operators() == Operators{"Relu"});
  }
}

TEST_CASE("equal nodes become one, if they are known operators") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  SECTION("with attributes in any order") {
    auto& first = add_node(graph, "HardSigmoid", {"x"}, {"a"}, "first");
    set_float(first, "alpha", 0.25F);
    set_float(first, "beta", 0.75F);
    auto& second = add_node(graph, "HardSigmoid", {"x"}, {"b"}, "second");
    set_float(second, "beta", 0.75F);
    set_float(second, "alpha", 0.25F);
    add_node(graph, "Sub", {"a", "b"}, {"y"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"HardSigmoid", "Sub"});
    CHECK(cleaned.graph().node(0).name() == "first");
    CHECK(clean_without(model, "common-subexpressions").counts.empty());
  }
  SECTION("not with other attributes") {
    set_float(add_node(graph, "Elu", {"x"}, {"a"}), "alpha", 0.25F);
    set_float(add_node(graph, "Elu", {"x"}, {"b"}), "alpha", 0.75F);
    add_node(graph, "Sub", {"a", "b"}, {"y"});
    CHECK(clean(model).counts.empty());
  }
  SECTION("not when both are outputs") {
    declare(*graph.add_output(), "z", {2});
    add_node(graph, "Relu", {"x"}, {"y"});
    add_node(graph, "Relu", {"x"}, {"z"});
    CHECK(clean(model).counts.empty());
  }
  SECTION("chains of them") {
    for (const std::string_view side : {"a", "b"}) {
      const std::string one = std::string(side) + "1", two = std::string(side) + "2";
      add_node(graph, "Relu", {"x"}, {one});
      add_node(graph, "Exp", {one}, {two});
    }
    add_node(graph, "Add", {"a2", "b2"}, {"y"});
    CHECK(clean(model).operators() == Operators{"Relu", "Exp", "Add"});
  }
  SECTION("never random ones") {
    for (const std::string_view name : {"a", "b"})
      set_integers(add_node(graph, "RandomNormal", {}, {name}), "shape", {2});
    add_node(graph, "Add", {"a", "b"}, {"c"});
    add_node(graph, "Add", {"c", "x"}, {"y"});
    CHECK(clean(model, {}, Runs::no).counts.empty());
  }
  SECTION("never unknown ones") {
    add_custom(model, {"x"}, {"a"});
    add_custom(model, {"x"}, {"b"});
    add_custom(model, {"x"}, {"nobody"});
    add_node(graph, "Add", {"a", "b"}, {"y"});
    CHECK(clean(model, {}, Runs::no).counts.empty());
  }
}

TEST_CASE("identities around unknown operators are removed") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Identity", {"x"}, {"a"});
  add_custom(model, {"a"}, {"b", "c"});
  add_node(graph, "Identity", {"b"}, {"d"});
  add_custom(model, {"d", "", "c"}, {"e"});
  add_node(graph, "Identity", {"e"}, {"y"});
  const auto cleaned = clean(model, {}, Runs::no);
  // The names of an unknown operator's results stay.
  CHECK(cleaned.operators() == Operators{"Custom", "Custom", "Identity"});
  CHECK(cleaned.graph().node(0).input(0) == "x");
  CHECK(cleaned.graph().node(1).input(0) == "b");
  CHECK(cleaned.graph().node(1).input(1).empty());
}

TEST_CASE("constants that passes add do not stay unused, whatever is disabled") {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Shape", {"x"}, {"s"});
  add_node(graph, "Mul", {"s", "s"}, {"t"});
  add_node(graph, "Sub", {"t", "t"}, {"u"});
  add_node(graph, "Add", {"s", "u"}, {"v"});
  add_node(graph, "Reshape", {"x", "v"}, {"r"});
  add_node(graph, "Relu", {"r"}, {"y"});
  for (const std::int64_t version : {3, 8})
    for (const char* pass : {"unused-weights", "dead-code", "no-op"}) {
      model.set_ir_version(version);
      const auto cleaned = clean_without(model, pass);
      INFO(version << ' ' << pass << ' ' << cleaned.graph().DebugString());
      const int left = std::string_view(pass) == "no-op" ? 1 : 0;  // for the Reshape
      CHECK(cleaned.graph().initializer_size() + std::ranges::count(cleaned.operators(), "Constant") == left);
    }
}

TEST_CASE("nodes that a pass makes unused are removed, whatever is disabled; unknown nodes stay") {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Shape", {"x"}, {"s"});
  add_node(graph, "Reshape", {"x", "s"}, {"r"});
  add_node(graph, "Custom", {"x"}, {"c"}).set_domain("of.ours");
  add_node(graph, "Relu", {"x"}, {"dead"});
  add_node(graph, "Relu", {"r"}, {"y"});
  model.add_opset_import()->set_domain("of.ours");
  CHECK(clean_without(model, "dead-code").operators() == Operators{"Custom", "Relu", "Relu"});
  CHECK(clean(model).operators() == Operators{"Custom", "Relu"});
}

TEST_CASE("unused nodes and weights are removed, except for those that may matter") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Relu", {"x"}, {"y"});
  SECTION("a chain of nodes with its weights") {
    add_floats(graph, "w", {2}, {1, 2});
    add_node(graph, "Add", {"x", "w"}, {"a"});
    add_node(graph, "Exp", {"a"}, {"b"});
    const auto cleaned = clean(model);
    CHECK(cleaned.operators() == Operators{"Relu"});
    CHECK(cleaned.graph().initializer_size() == 0);
    CHECK(clean_without(model, "dead-code").graph().node_size() == 3);
    CHECK(clean_without(model, "unused-weights").graph().initializer_size() == 1);
  }
  SECTION("not part of a node's results") {
    set_integer(add_node(graph, "Split", {"x"}, {"first", "second"}), "axis", 0);
    declare(*graph.add_output(), "second", {1});
    CHECK(clean(model).counts.empty());
  }
  SECTION("not a weight that may be overridden") {
    add_floats(graph, "w", {2}, {1, 2});
    declare(*graph.add_input(), "w", {2});
    const auto cleaned = clean(model);
    CHECK(cleaned.counts.empty());
    CHECK(cleaned.graph().input_size() == 2);
  }
  SECTION("below IR 4 it may not: it is removed with its entry among the inputs") {
    model.set_ir_version(3);
    add_floats(graph, "w", {2}, {1, 2});
    declare(*graph.add_input(), "w", {2});
    const auto cleaned = clean(model);
    CHECK(cleaned.graph().initializer_size() == 0);
    CHECK(cleaned.graph().input_size() == 1);
  }
  SECTION("not what a quantization annotation names") {
    add_floats(graph, "scale", {}, {0.5F});
    add_floats(graph, "w", {2}, {1, 2});
    auto& annotation = *graph.add_quantization_annotation();
    annotation.set_tensor_name("w");
    auto& entry = *annotation.add_quant_parameter_tensor_names();
    entry.set_key("SCALE_TENSOR");
    entry.set_value("scale");
    const auto cleaned = clean(model);
    CHECK(cleaned.counts.empty());
    CHECK(cleaned.graph().initializer_size() == 2);
  }
  SECTION("not in a training model") {
    model.add_training_info();
    add_node(graph, "Exp", {"x"}, {"a"});
    CHECK(clean(model).counts.empty());
  }
}

TEST_CASE("an annotated value keeps its name") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  add_node(graph, "Relu", {"x"}, {"a"});
  add_node(graph, "Identity", {"a"}, {"b"});
  add_node(graph, "Exp", {"b"}, {"y"});
  CHECK(clean(model).graph().node_size() == 2);
  graph.add_quantization_annotation()->set_tensor_name("b");
  CHECK(clean(model).counts.empty());
}

TEST_CASE("opsets before 7 are left alone, except for plain copies") {
  auto model = plain_model({2}, {2});
  auto& graph = *model.mutable_graph();
  model.mutable_opset_import(0)->set_version(6);
  add_node(graph, "Relu", {"x"}, {"a"});
  add_node(graph, "Relu", {"x"}, {"b"});
  add_node(graph, "Exp", {"x"}, {"nobody"});
  add_node(graph, "Add", {"a", "b"}, {"y"});
  CHECK(clean(model, {}, Runs::no).counts.empty());
}

}  // namespace taso::test
