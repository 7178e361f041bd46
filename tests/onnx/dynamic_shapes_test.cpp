// Models with computed sizes: the search understands what exporters write for a dynamic BERT or GPT-2.
#include "onnx/import/import.h"
#include "onnx/model/model.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

namespace {

void declare_named(proto::ValueInfoProto& value, std::string_view name, const std::vector<std::string>& dims,
                   int element = proto::TensorProto::FLOAT) {
  declare(value, name, {}, element);
  auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::string& dim : dims) {
    if (!dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos)
      shape.add_dim()->set_dim_value(std::stoll(dim));
    else
      shape.add_dim()->set_dim_param(dim);
  }
}

void add_numbers(proto::GraphProto& graph, std::string_view name, const std::vector<std::int64_t>& values,
                 bool scalar = false) {
  proto::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(proto::TensorProto::INT64);
  if (!scalar) tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
}

void set_integer(proto::NodeProto& node, std::string_view name, std::int64_t value) {
  add_attribute(node, name, proto::AttributeProto::INT).set_i(value);
}

std::size_t opaque_floats(const ImportedModel& imported) {
  std::size_t number = 0;
  for (const ops::Node* node : imported.graph.nodes())
    if (node->as_opaque() != nullptr && node->outputs()[0].element == ElementType::float32) ++number;
  return number;
}

}  // namespace

TEST_CASE("attention with a mask sliced to computed ends is understood") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  declare_named(*graph.add_input(), "x", {"N", "S", "8"});
  declare_named(*graph.add_input(), "past", {"N", "2", "P", "4"});
  declare_named(*graph.add_output(), "y", {"N", "S", "8"});
  add_floats(graph, "w", {8, 8}, std::vector<float>(64, 0.1F));
  add_floats(graph, "positions", {1, 16, 8}, std::vector<float>(128, 0.1F));
  add_floats(graph, "low", {}, {-10});
  proto::TensorProto& table = *graph.add_initializer();
  table.set_name("causal");
  table.set_data_type(proto::TensorProto::BOOL);
  for (const std::int64_t dim : {1, 1, 16, 16}) table.add_dims(dim);
  table.set_raw_data(std::string(256, '\1'));
  add_numbers(graph, "zero", {0}, true);
  add_numbers(graph, "one", {1}, true);
  add_numbers(graph, "two", {2}, true);
  add_numbers(graph, "first", {0});
  add_numbers(graph, "second", {1});
  add_numbers(graph, "third", {2});
  add_numbers(graph, "fourth", {3});
  add_numbers(graph, "heads", {2});
  add_numbers(graph, "rest", {-1});
  // Positions [:, :S], as in BERT.
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"n"});
  add_node(graph, "Gather", {"shape", "one"}, {"s"});
  add_node(graph, "Unsqueeze", {"n", "first"}, {"n1"});
  add_node(graph, "Unsqueeze", {"s", "first"}, {"s1"});
  add_node(graph, "Slice", {"positions", "first", "s1", "second"}, {"table"});
  add_node(graph, "Add", {"x", "table"}, {"h"});
  // Heads.
  set_integer(add_node(graph, "Concat", {"n1", "s1", "heads", "rest"}, {"split"}), "axis", 0);
  for (const std::string part : {"q", "k", "v"}) {
    add_node(graph, "MatMul", {"h", "w"}, {part + "m"});
    add_node(graph, "Reshape", {part + "m", "split"}, {part + "r"});
    auto& order =
        add_attribute(add_node(graph, "Transpose", {part + "r"}, {part}), "perm", proto::AttributeProto::INTS);
    for (const std::int64_t axis : {0, 2, 1, 3}) order.add_ints(axis);
  }
  for (const std::string part : {"k", "v"})
    set_integer(add_node(graph, "Concat", {"past", part}, {part + "all"}), "axis", 2);
  auto& turn = add_attribute(add_node(graph, "Transpose", {"kall"}, {"kt"}), "perm", proto::AttributeProto::INTS);
  for (const std::int64_t axis : {0, 1, 3, 2}) turn.add_ints(axis);
  add_node(graph, "MatMul", {"q", "kt"}, {"scores"});
  // The mask [:, :, t - s : t, :t], as in GPT-2.
  add_node(graph, "Shape", {"scores"}, {"sizes"});
  add_node(graph, "Slice", {"sizes", "fourth", "end", "first"}, {"t"});
  add_numbers(graph, "end", {4});
  add_node(graph, "Slice", {"sizes", "third", "fourth", "first"}, {"own"});
  add_node(graph, "Sub", {"t", "own"}, {"from"});
  add_node(graph, "Slice", {"causal", "from", "t", "third"}, {"rows"});
  add_node(graph, "Slice", {"rows", "first", "t", "fourth"}, {"mask"});
  add_node(graph, "Where", {"mask", "scores", "low"}, {"masked"});
  set_integer(add_node(graph, "Softmax", {"masked"}, {"weights"}), "axis", -1);
  add_node(graph, "MatMul", {"weights", "vall"}, {"mixed"});
  auto& back = add_attribute(add_node(graph, "Transpose", {"mixed"}, {"turned"}), "perm", proto::AttributeProto::INTS);
  for (const std::int64_t axis : {0, 2, 1, 3}) back.add_ints(axis);
  set_integer(add_node(graph, "Concat", {"n1", "s1", "rest"}, {"joined"}), "axis", 0);
  add_node(graph, "Reshape", {"turned", "joined"}, {"flat"});
  add_node(graph, "MatMul", {"flat", "w"}, {"y"});
  Model model(proto, {});
  model.validate();
  const ImportedModel imported = import_model(view_of(model));
  CHECK(text_of(imported.values.at("h").type()) == "float32[N, S, 8]");
  CHECK(text_of(imported.values.at("masked").type()) == "float32[N, 2, S, P + S]");
  CHECK(text_of(imported.values.at("y").type()) == "float32[N, S, 8]");
  // The slices of tables, the sum with one, and the selection by the mask. All other operators are modelled.
  CHECK(opaque_floats(imported) == 3);
}

TEST_CASE("names of a model never clash with generated names") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  SECTION("of dimensions") {
    declare_named(*graph.add_input(), "x", {""});
    declare_named(*graph.add_input(), "y", {"x#0"});
    declare_named(*graph.add_output(), "z", {""});
    add_node(graph, "Add", {"x", "y"}, {"z"});
    Model model(proto, {});
    const ImportedModel imported = import_model(view_of(model));
    CHECK(imported.values.at("x").shape()[0] != imported.values.at("y").shape()[0]);
  }
  SECTION("of numbers") {
    declare(*graph.add_input(), "x", {2});
    declare(*graph.add_output(), "z", {2});
    add_floats(graph, "float32(0)", {}, {5});
    add_node(graph, "PRelu", {"x", "float32(0)"}, {"z"});  // becomes max(x, 0) + 5 min(x, 0)
    Model model(proto, {});
    const ImportedModel imported = import_model(view_of(model));
    std::vector<double> numbers;
    for (const ops::Node* node : imported.graph.nodes())
      if (const Constant* constant = node->as_constant()) numbers.push_back(constant->weight->load().doubles().at(0));
    std::sort(numbers.begin(), numbers.end());
    CHECK(numbers == std::vector<double>{0, 5});
  }
}

TEST_CASE("declared inner sizes are not trusted; declared ranks are, if nothing else is known") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  auto& domain = *proto.add_opset_import();
  domain.set_domain("elsewhere");
  domain.set_version(1);
  declare_named(*graph.add_input(), "x", {"N", "4"});
  declare_named(*graph.add_output(), "y", {"", ""});
  declare(*graph.add_value_info(), "a", {1, 1, 9});  // from the run in which it was traced
  declare(*graph.add_value_info(), "b", {7});        // wrong; inference overrides it
  add_node(graph, "Own", {"x"}, {"a"}).set_domain("elsewhere");
  add_node(graph, "Relu", {"x"}, {"b"});
  add_node(graph, "Add", {"a", "b"}, {"y"});
  Model model(proto, {});
  const ImportedModel imported = import_model(view_of(model));
  REQUIRE(imported.values.at("a").type().shape);
  CHECK(imported.values.at("a").shape().size() == 3);
  for (const Dim& dim : imported.values.at("a").shape()) CHECK_FALSE(dim.is_static());
  CHECK(text_of(imported.values.at("b").type()) == "float32[N, 4]");
}

TEST_CASE("a value that is passed on unchanged has the declared type of the result") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  auto& domain = *proto.add_opset_import();
  domain.set_domain("elsewhere");
  domain.set_version(1);
  declare_named(*graph.add_input(), "x", {"N", "4"});
  declare_named(*graph.add_output(), "y", {"", ""});
  add_node(graph, "Own", {"x"}, {"a"}).set_domain("elsewhere");
  add_node(graph, "Dropout", {"a"}, {"b"});
  add_node(graph, "Identity", {"b"}, {"y"});
  Model model(proto, {});
  const ImportedModel imported = import_model(view_of(model));
  REQUIRE(imported.values.at("a").type().shape);
  CHECK(imported.values.at("a").shape().size() == 2);
  CHECK(imported.values.at("a").type().element == ElementType::float32);
}

}  // namespace taso::test
