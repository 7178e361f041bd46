// If on the host: which branch runs, what it sees, what is known of its results in advance, and the message if it
// cannot run.
#include "onnx/import/branches.h"

#include "onnx/import/import.h"
#include "onnx/import/node_body.h"
#include "onnx/model/model.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

namespace {

/// An If of y by `condition`, with empty branches.
proto::NodeProto& add_if(proto::GraphProto& graph, Names outputs, std::string_view condition = "condition") {
  proto::NodeProto& node = add_node(graph, "If", {condition}, outputs);
  for (const std::string_view name : {"then_branch", "else_branch"})
    add_attribute(node, name, proto::AttributeProto::GRAPH).mutable_g()->set_name(std::string(name));
  return node;
}

proto::GraphProto& branch(proto::NodeProto& node, bool condition) {
  return *node.mutable_attribute(condition ? 0 : 1)->mutable_g();
}

/// Declares the outputs of a branch without types, which are optional.
void give(proto::GraphProto& graph, Names names) {
  for (const auto name : names) graph.add_output()->set_name(std::string(name));
}

/// x: float[2] and a condition; y without a declared type.
proto::ModelProto model_with_condition() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {2});
  declare(*graph.add_input(), "condition", {}, proto::TensorProto::BOOL);
  graph.add_output()->set_name("y");
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::FLOAT);
  return model;
}

/// Inputs are x = {3, -4} and the conditions.
std::vector<std::vector<double>> run(const proto::ModelProto& proto, std::initializer_list<bool> conditions,
                                     const std::filesystem::path& folder = {}) {
  Model model(proto, folder);
  model.validate();
  const ImportedModel imported = import_model(view_of(model));
  std::vector<Array> inputs{Array::of<float>({2}, {3, -4})};
  for (const bool condition : conditions) inputs.push_back(Array::scalar(condition));
  std::vector<std::vector<double>> results;
  for (const Array& array : runtime::interpret(imported.graph, inputs)) results.push_back(array.doubles());
  return results;
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The type that import gives the first output, whatever is declared.
Type type_of(const proto::ModelProto& proto) {
  Model model(proto, {});
  model.validate();
  SharedImport shared;
  shared.believe_declarations = false;
  return import_model(view_of(model), &shared).graph.outputs.at(0).type();
}

std::string obstacle_to(const proto::ModelProto& proto) {
  for (const auto& node : proto.graph().node())
    if (node.op_type() == "If") return obstacle_of(proto, node);
  return "no If";
}

using Results = std::vector<std::vector<double>>;

}  // namespace

TEST_CASE("the condition decides which branch runs, on captured and own values") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Neg", {"x"}, {"minus"});
  proto::NodeProto& node = add_if(graph, {"y"});
  // Both branches use the same names, and one defines what the other captures.
  add_node(branch(node, true), "Add", {"minus", "x"}, {"inner"});
  add_floats(branch(node, false), "x", {2}, {10, 20});
  add_node(branch(node, false), "Sub", {"minus", "x"}, {"inner"});
  for (const bool condition : {true, false}) give(branch(node, condition), {"inner"});
  CHECK(run(model, {true}) == Results{{0, 0}});
  CHECK(run(model, {false}) == Results{{-13, -16}});
}

TEST_CASE("a branch may return captured values or constants, and as many results as the node has") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  proto::NodeProto& node = add_if(graph, {"y", "", "z"});
  declare(*graph.add_output(), "z", {2});
  add_floats(branch(node, true), "w", {2}, {5, 6});
  give(branch(node, true), {"w", "x", "x"});
  add_node(branch(node, false), "Relu", {"x"}, {"r"});
  give(branch(node, false), {"x", "r", "r"});
  CHECK(run(model, {true}) == Results{{5, 6}, {3, -4}});
  CHECK(run(model, {false}) == Results{{3, -4}, {3, 0}});
  branch(node, true).mutable_output()->RemoveLast();
  CHECK(error_of([&] { run(model, {true}); }).find("then_branch of If has 2 results, not 3") != std::string::npos);
}

TEST_CASE("nested branches see all outer values") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "inner_condition", {}, proto::TensorProto::BOOL);
  proto::NodeProto& outer = add_if(graph, {"y"});
  add_node(branch(outer, true), "Exp", {"x"}, {"unused"});
  add_node(branch(outer, true), "Add", {"x", "x"}, {"twice"});
  proto::NodeProto& inner = add_if(branch(outer, true), {"chosen"}, "inner_condition");
  add_node(branch(inner, true), "Mul", {"twice", "x"}, {"deep"});
  give(branch(inner, true), {"deep"});
  give(branch(inner, false), {"twice"});
  give(branch(outer, true), {"chosen"});
  give(branch(outer, false), {"x"});
  CHECK(run(model, {true, true}) == Results{{18, 32}});
  CHECK(run(model, {true, false}) == Results{{6, -8}});
  CHECK(run(model, {false, true}) == Results{{3, -4}});
  CHECK(type_of(model) == Type{ElementType::float32, Shape{2}});
}

TEST_CASE("nodes inside have the model's opset") {
  // Axes are an attribute before opset 13, and an operand since.
  proto::ModelProto model = model_with_condition();
  proto::NodeProto& node = add_if(*model.mutable_graph(), {"y"});
  proto::NodeProto& sum = add_node(branch(node, true), "ReduceSum", {"x"}, {"sum"});
  add_attribute(sum, "axes", proto::AttributeProto::INTS).add_ints(0);
  give(branch(node, true), {"sum"});
  proto::NodeProto& added = add_node(branch(node, false), "Unsqueeze", {"x"}, {"row"});
  add_attribute(added, "axes", proto::AttributeProto::INTS).add_ints(0);
  give(branch(node, false), {"row"});
  model.mutable_opset_import(0)->set_version(12);
  CHECK(run(model, {true}) == Results{{-1}});
  CHECK(run(model, {false}) == Results{{3, -4}});

  auto& axes = *add_node(branch(node, true), "Constant", {}, {"axes"}).add_attribute();
  axes.set_name("value_ints");
  axes.set_type(proto::AttributeProto::INTS);
  axes.add_ints(0);
  proto::NodeProto* const modern = branch(node, true).mutable_node(0);
  modern->clear_attribute();
  modern->add_input("axes");
  branch(node, false).mutable_node(0)->clear_attribute();
  branch(node, false).mutable_node(0)->set_op_type("Relu");
  model.mutable_opset_import(0)->set_version(13);
  CHECK(run(model, {true}) == Results{{-1}});
  CHECK(run(model, {false}) == Results{{3, 0}});
}

TEST_CASE("weights of branches may be in a file") {
  TemporaryFolder folder;
  const std::vector<float> values{7, 8};
  write_file(folder / "weights", {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  proto::ModelProto model = model_with_condition();
  proto::NodeProto& node = add_if(*model.mutable_graph(), {"y"});
  add_external(branch(node, true), "w", {2}, "weights");
  add_node(branch(node, true), "Add", {"x", "w"}, {"sum"});
  give(branch(node, true), {"sum"});
  auto& constant =
      *add_attribute(add_node(branch(node, false), "Constant", {}, {"c"}), "value", proto::AttributeProto::TENSOR)
           .mutable_t();
  constant = branch(node, true).initializer(0);
  give(branch(node, false), {"c"});
  CHECK(run(model, {true}, folder.path()) == Results{{10, 4}});
  CHECK(run(model, {false}, folder.path()) == Results{{7, 8}});
}

TEST_CASE("results have the type that both branches give, or the only possible branch") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  proto::NodeProto& node = add_if(graph, {"y"});
  add_node(branch(node, true), "Relu", {"x"}, {"inner"});
  add_node(branch(node, false), "Neg", {"x"}, {"inner"});
  for (const bool condition : {true, false}) give(branch(node, condition), {"inner"});
  const Type pair{ElementType::float32, Shape{2}};
  CHECK(type_of(model) == pair);
  // The same unknown dimension is as good as a number.
  auto& dim = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
  dim.set_dim_param("N");
  CHECK(type_of(model) == Type{ElementType::float32, Shape{Dim::symbol("N")}});
  dim.set_dim_value(2);

  SECTION("not if shapes differ") {
    add_node(branch(node, false), "Concat", {"inner", "x"}, {"longer"});
    add_attribute(*branch(node, false).mutable_node(1), "axis", proto::AttributeProto::INT).set_i(0);
    branch(node, false).mutable_output(0)->set_name("longer");
    CHECK(type_of(model) == Type{ElementType::float32, std::nullopt});
    CHECK(run(model, {true}) == Results{{3, 0}});
    CHECK(run(model, {false}) == Results{{-3, 4, 3, -4}});
    // The names that the branches give their dimensions are ignored.
    for (const bool condition : {true, false}) {
      auto& declared = *branch(node, condition).mutable_output(0)->mutable_type()->mutable_tensor_type();
      declared.set_elem_type(proto::TensorProto::FLOAT);
      declared.mutable_shape()->add_dim()->set_dim_param("K");
    }
    CHECK(type_of(model) == Type{ElementType::float32, std::nullopt});
    // With a known condition only one branch counts.
    graph.mutable_input()->RemoveLast();
    for (const bool condition : {true, false}) {
      proto::ModelProto fixed = model;
      proto::TensorProto& tensor = *fixed.mutable_graph()->add_initializer();
      tensor.set_name("condition");
      tensor.set_data_type(proto::TensorProto::BOOL);
      tensor.add_int32_data(condition ? 1 : 0);
      CHECK(type_of(fixed) == Type{ElementType::float32, Shape{condition ? 2 : 4}});
      CHECK(run(fixed, {}).at(0).size() == (condition ? 2U : 4U));
    }
  }
  SECTION("nor if types do") {
    auto& cast = add_node(branch(node, false), "Cast", {"inner"}, {"whole"});
    add_attribute(cast, "to", proto::AttributeProto::INT).set_i(proto::TensorProto::INT64);
    branch(node, false).mutable_output(0)->set_name("whole");
    CHECK(type_of(model) == Type{});
  }
}

TEST_CASE("operators that cannot run inside a branch are named") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  proto::NodeProto& node = add_if(graph, {"y"});
  for (const bool condition : {true, false}) {
    add_node(branch(node, condition), "Relu", {"x"}, {"inner"});
    give(branch(node, condition), {"inner"});
  }
  proto::NodeProto& first = *branch(node, false).mutable_node(0);
  CHECK(obstacle_to(model).empty());
  SECTION("a loop") {
    first.set_op_type("Loop");
    add_attribute(first, "body", proto::AttributeProto::GRAPH).mutable_g();
    CHECK(obstacle_to(model) == "Loop inside: control flow");
    const auto body = make_body(model, node, {});
    CHECK(body->obstacle() == "Loop inside: control flow");
    CHECK(error_of([&] {
            body->run({Array::scalar(true), Array::of<float>({2}, {1, 2})});
          }) == "If cannot be run: Loop inside: control flow");
  }
  SECTION("deep inside") {
    proto::NodeProto& inner = add_if(branch(node, false), {"chosen"});
    add_node(branch(inner, true), "Multinomial", {"x"}, {"drawn"});
    CHECK(obstacle_to(model) == "Multinomial inside: random operator");
  }
  SECTION("dropout that may train") {
    first.set_op_type("Dropout");
    CHECK(obstacle_to(model).empty());
    first.add_input("");
    first.add_input("condition");
    CHECK(obstacle_to(model) == "Dropout inside: it may draw random numbers");
  }
  SECTION("other domains, and unknown operators") {
    first.set_domain("test.custom");
    CHECK(obstacle_to(model) == "Relu inside: operator of domain 'test.custom'");
    first.clear_domain();
    first.set_op_type("SequenceConstruct");
    CHECK(obstacle_to(model) == "SequenceConstruct inside: operator not covered");
  }
  SECTION("what the model means by an operator's name") {
    proto::FunctionProto& function = *model.add_functions();
    function.set_name("Relu");
    CHECK(obstacle_to(model) == "Relu inside: operator that the model defines itself");
    CHECK(make_body(model, node, {})->obstacle() == "Relu inside: operator that the model defines itself");
  }
  SECTION("nodes that are such constants") {
    first.set_op_type("Constant");
    first.clear_input();
    proto::AttributeProto& value = add_attribute(first, "value_string", proto::AttributeProto::STRING);
    CHECK(obstacle_to(model) == "a constant of string inside");
    value.set_name("sparse_value");
    CHECK(obstacle_to(model) == "a sparse constant inside");
    value.set_name("value");
    value.mutable_t()->set_data_type(proto::TensorProto::COMPLEX64);
    CHECK(obstacle_to(model) == "a constant of complex64 inside");
    value.mutable_t()->set_data_type(proto::TensorProto::FLOAT);
    CHECK(obstacle_to(model).empty());
  }
  SECTION("constants of kinds that are not modelled") {
    branch(node, true).add_initializer()->set_data_type(proto::TensorProto::STRING);
    CHECK(obstacle_to(model) == "a constant of string inside");
    branch(node, true).clear_initializer();
    branch(node, true).add_sparse_initializer();
    CHECK(obstacle_to(model) == "a sparse constant inside");
  }
  SECTION("and a missing branch") {
    node.mutable_attribute()->RemoveLast();
    CHECK(obstacle_to(model) == "control flow");
  }
}

TEST_CASE("an If is never computed ahead, and names the branch that failed") {
  proto::ModelProto model = model_with_condition();
  proto::GraphProto& graph = *model.mutable_graph();
  proto::NodeProto& node = add_if(graph, {"y"});
  add_floats(branch(node, true), "w", {3}, {1, 2, 3});
  add_node(branch(node, true), "Add", {"x", "w"}, {"sum"});
  give(branch(node, true), {"sum"});
  give(branch(node, false), {"x"});
  const auto body = make_body(model, node, {});
  CHECK(body->obstacle().empty());
  CHECK(body->has_programs());
  CHECK(!body->is_deterministic());
  CHECK(!is_deterministic(node, 17));
  CHECK(run(model, {false}) == Results{{3, -4}});
  CHECK(error_of([&] { run(model, {true}); }).starts_with("then_branch of If: "));
  const Array x = Array::of<float>({2}, {1, 2});
  for (const Array& condition : {Array::of<bool>({2}, {true, true}), Array::scalar<std::int64_t>(1)})
    CHECK(error_of([&] { body->run({condition, x}); }) == "the condition of If must be a single boolean");
}

}  // namespace taso::test
