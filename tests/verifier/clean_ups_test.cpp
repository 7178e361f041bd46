// Independent code shows that clean-ups are right: it accepts what they really do, and refuses slightly wrong numbers.
#include "verifier/replay/clean_ups.h"

#include <cstring>
#include <functional>
#include <set>
#include <tuple>

#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace verifier;

namespace {

std::optional<std::string> shown(const onnx::Model& before, const onnx::Model& after) {
  const onnx::ImportedModel original = onnx::import_model(onnx::view_of(before)),
                            cleaned = onnx::import_model(onnx::view_of(after));
  return verifier::difference(
      original.graph, cleaned.graph, [](const Value&) { return std::string("a value"); }, computed_ahead());
}

/// Accepts what clean-ups do to the model, and refuses it if any number that they made is changed. Returns the number
/// of tensors they made.
std::size_t check_clean_ups(const proto::ModelProto& proto) {
  onnx::Model before(proto, {});
  before.validate();
  std::set<std::string> old;
  for (const auto& tensor : before.proto().graph().initializer()) old.insert(tensor.name());
  onnx::Model copy = before.copy();
  auto edit = std::make_unique<onnx::GraphEdit>(copy);
  onnx::clean_up(*edit);
  onnx::Model after = onnx::GraphEdit::commit(std::move(edit), std::move(copy));
  CHECK(shown(before, after) == std::nullopt);

  std::size_t made = 0;
  onnx::for_each_tensor(after.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
    if (old.contains(tensor.name()) || !tensor.has_raw_data()) return;
    ++made;
    const std::string raw = tensor.raw_data();
    std::string wrong = raw;
    if (tensor.data_type() == proto::TensorProto::FLOAT) {
      float value = 0;
      std::memcpy(&value, wrong.data(), sizeof value);
      value = value * 1.00001F + 1e-6F;
      std::memcpy(wrong.data(), &value, sizeof value);
    } else {
      wrong[0] = static_cast<char>(wrong[0] + 1);
    }
    tensor.set_raw_data(wrong);
    INFO(tensor.name());
    CHECK(shown(before, after) != std::nullopt);
    tensor.set_raw_data(raw);
  });
  return made;
}

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + 0.37F * static_cast<float>(i % 11);
  return values;
}

void add_norm(proto::GraphProto& graph, std::string_view input, std::string_view output, std::int64_t channels) {
  for (const char* name : {"scale", "shift", "mean", "variance"})
    add_floats(graph, name, {channels},
               numbers(static_cast<std::size_t>(channels), 0.5F + static_cast<float>(name[0] % 5)));
  add_node(graph, "BatchNormalization", {input, "scale", "shift", "mean", "variance"}, {output});
}

}  // namespace

TEST_CASE("batch normalisation folded into weights is computed again") {
  for (const bool biased : {false, true}) {
    proto::ModelProto model = empty_model();
    proto::GraphProto& graph = *model.mutable_graph();
    declare(*graph.add_input(), "x", {1, 3, 5, 5});
    add_floats(graph, "w", {4, 3, 3, 3}, numbers(108, -1));
    add_floats(graph, "b", {4}, numbers(4, 2));
    if (biased)
      add_node(graph, "Conv", {"x", "w", "b"}, {"c"});
    else
      add_node(graph, "Conv", {"x", "w"}, {"c"});
    add_norm(graph, "c", "y", 4);
    declare(*graph.add_output(), "y", {1, 4, 3, 3});
    CHECK(check_clean_ups(model) == 2);
  }
}

TEST_CASE("batch normalisation behind a transposed convolution") {
  for (const std::int64_t groups : {1, 2}) {
    proto::ModelProto model = empty_model();
    proto::GraphProto& graph = *model.mutable_graph();
    declare(*graph.add_input(), "x", {1, 4, 5, 5});
    add_floats(graph, "w", {4, 3, 3, 3}, numbers(108, -1));
    auto& conv = add_node(graph, "ConvTranspose", {"x", "w"}, {"c"});
    add_attribute(conv, "group", proto::AttributeProto::INT).set_i(groups);
    add_norm(graph, "c", "y", 3 * groups);
    declare(*graph.add_output(), "y", {1, 3 * groups, 7, 7});
    CHECK(check_clean_ups(model) == 2);
  }
}

TEST_CASE("batch normalisations in sequence") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {1, 3, 5, 5});
  add_floats(graph, "w", {4, 3, 3, 3}, numbers(108, -1));
  add_node(graph, "Conv", {"x", "w"}, {"c"});
  add_norm(graph, "c", "n", 4);
  add_floats(graph, "other", {4}, numbers(4, 0.25F));
  add_node(graph, "BatchNormalization", {"n", "scale", "shift", "other", "variance"}, {"y"});
  declare(*graph.add_output(), "y", {1, 4, 3, 3});
  CHECK(check_clean_ups(model) == 2);
}

TEST_CASE("batch normalisation behind a convolution that is not modelled") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {1, 3, 5, 5});
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(1)->set_dim_param("C");
  shape.mutable_dim(2)->set_dim_param("H");
  add_floats(graph, "w", {4, 3, 3, 3}, numbers(108, -1));
  add_node(graph, "Conv", {"x", "w"}, {"c"});
  add_norm(graph, "c", "y", 4);
  declare(*graph.add_output(), "y", {1, 4, 3, 3});
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const onnx::Model given(model, {});
  REQUIRE(onnx::import_model(onnx::view_of(given)).values.at("c").node->as_opaque() != nullptr);
  CHECK(check_clean_ups(model) == 2);
}

TEST_CASE("batch normalisation behind a product of matrices") {
  for (const bool transposed : {false, true}) {
    proto::ModelProto model = empty_model();
    proto::GraphProto& graph = *model.mutable_graph();
    declare(*graph.add_input(), "x", {2, 3});
    add_floats(graph, "w", transposed ? Dims{4, 3} : Dims{3, 4}, numbers(12, -1));
    add_floats(graph, "b", {4}, numbers(4, 2));
    auto& gemm = add_node(graph, "Gemm", {"x", "w", "b"}, {"c"});
    if (transposed) add_attribute(gemm, "transB", proto::AttributeProto::INT).set_i(1);
    add_attribute(gemm, "alpha", proto::AttributeProto::FLOAT).set_f(0.5F);
    add_norm(graph, "c", "y", 4);
    declare(*graph.add_output(), "y", {2, 4});
    CHECK(check_clean_ups(model) == 2);
  }
}

TEST_CASE("values that depend on constants and sizes are computed again") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  auto& input = *graph.add_input();
  declare(input, "x", {7, 3, 4});
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  const auto integers = [&](const char* name, std::vector<std::int64_t> values) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(proto::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
  };
  integers("second", {1});
  integers("third", {2});
  integers("first", {0});
  add_floats(graph, "one", {3}, {1, 2, 3});
  add_node(graph, "Shape", {"x"}, {"s"});
  add_node(graph, "Gather", {"s", "second"}, {"three"});
  add_node(graph, "Gather", {"s", "third"}, {"four"});
  add_node(graph, "Gather", {"s", "first"}, {"open"});
  add_node(graph, "Mul", {"three", "four"}, {"twelve"});
  add_attribute(add_node(graph, "Concat", {"open", "three", "four"}, {"sizes"}), "axis", proto::AttributeProto::INT)
      .set_i(0);
  add_node(graph, "Add", {"one", "one"}, {"two"});
  add_attribute(add_node(graph, "Cast", {"twelve"}, {"y"}), "to", proto::AttributeProto::INT)
      .set_i(proto::TensorProto::FLOAT);
  add_attribute(add_node(graph, "Cast", {"sizes"}, {"z"}), "to", proto::AttributeProto::INT)
      .set_i(proto::TensorProto::FLOAT);
  add_node(graph, "Neg", {"two"}, {"v"});
  add_node(graph, "Dropout", {"x"}, {"d", "mask"});
  add_node(graph, "Neg", {"d"}, {"w"});
  declare(*graph.add_output(), "y", {1});
  declare(*graph.add_output(), "z", {3});
  declare(*graph.add_output(), "v", {3});
  auto& last = *graph.add_output();
  last = input;
  last.set_name("w");
  CHECK(check_clean_ups(model) >= 3);
}

TEST_CASE("operands that change nothing are skipped, others are not") {
  for (const auto& [op_type, number, is_neutral] :
       std::vector<std::tuple<std::string, float, bool>>{{"Add", 0, true},
                                                         {"Sub", 0, true},
                                                         {"Mul", 1, true},
                                                         {"Div", 1, true},
                                                         {"Add", 1e-30F, false},
                                                         {"Mul", 0, false},
                                                         {"Sub", 1, false},
                                                         {"Div", 0.5F, false},
                                                         {"Max", 0, false}}) {
    proto::ModelProto model = empty_model();
    proto::GraphProto& graph = *model.mutable_graph();
    declare(*graph.add_input(), "x", {2, 3});
    declare(*graph.add_input(), "z", {2, 3});
    add_floats(graph, "c", {3}, {number, number, number});
    add_node(graph, "Add", {"x", "z"}, {"s"});
    add_node(graph, op_type, {"s", "c"}, {"a"});
    add_node(graph, "Relu", {"a"}, {"y"});
    declare(*graph.add_output(), "y", {2, 3});
    const onnx::Model before(model, {});
    graph.mutable_node(2)->set_input(0, "s");
    graph.mutable_node()->DeleteSubrange(1, 1);
    INFO(op_type << " " << number);
    CHECK(shown(before, onnx::Model(model, {})).has_value() == !is_neutral);
  }
}

TEST_CASE("movements around element-wise nodes may go if they cancel each other, and only then") {
  struct Case {
    std::string what;
    std::function<void(proto::GraphProto& before, proto::GraphProto& after)> change;
    bool is_right;
  };
  const auto permute = [](proto::NodeProto& node, std::initializer_list<std::int64_t> axes) {
    node.set_op_type("Transpose");
    node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
    auto& permutation = add_attribute(node, "perm", proto::AttributeProto::INTS);
    for (const std::int64_t axis : axes) permutation.add_ints(axis);
  };
  const std::vector<Case> cases{
      {"nothing else", [](auto&, auto&) {}, true},
      {"another operator", [](auto&, auto& after) { after.mutable_node(0)->set_op_type("Sub"); }, false},
      {"another number", [](auto&, auto& after) { after.mutable_node(1)->set_input(1, "three"); }, false},
      {"operands exchanged",
       [](auto& before, auto& after) {
         for (proto::GraphProto* graph : {&before, &after})
           graph->mutable_node(graph == &before ? 2 : 0)->set_op_type("Sub");
         std::swap(*after.mutable_node(0)->mutable_input(0), *after.mutable_node(0)->mutable_input(1));
       },
       false},
      {"transposes that cancel",
       [&](auto& before, auto&) {
         permute(*before.mutable_node(0), {1, 0});
         permute(*before.mutable_node(1), {1, 0});
         permute(*before.mutable_node(4), {1, 0});
       },
       true},
      {"a transpose before and a view behind",
       [&](auto& before, auto&) {
         permute(*before.mutable_node(0), {1, 0});
         permute(*before.mutable_node(1), {1, 0});
       },
       false},
      {"only one operand is transposed",
       [&](auto& before, auto&) {
         permute(*before.mutable_node(0), {1, 0});
       },
       false},
      {"a number for each column",
       [](auto& before, auto& after) {
         before.mutable_node(3)->set_input(1, "columns");
         after.mutable_node(1)->set_input(1, "columns");
       },
       false},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    proto::ModelProto model = empty_model();
    proto::GraphProto& graph = *model.mutable_graph();
    declare(*graph.add_input(), "x", {3, 3});
    declare(*graph.add_input(), "z", {3, 3});
    add_floats(graph, "two", {}, {2});
    add_floats(graph, "three", {}, {3});
    add_floats(graph, "columns", {3}, {1, 2, 3});
    // Views to the same shape change nothing in either way, so they go through another one.
    proto::TensorProto& shape = *graph.add_initializer();
    shape.set_name("there");
    shape.set_data_type(proto::TensorProto::INT64);
    shape.add_dims(3);
    for (const std::int64_t extent : {1, 3, 3}) shape.add_int64_data(extent);
    proto::TensorProto& back = *graph.add_initializer();
    back = shape;
    back.set_name("back");
    back.set_dims(0, 2);
    back.mutable_int64_data()->RemoveLast();
    back.set_int64_data(0, 3);
    declare(*graph.add_output(), "y", {3, 3});
    proto::ModelProto cleaned = model;
    add_node(graph, "Reshape", {"x", "there"}, {"a"});
    add_node(graph, "Reshape", {"z", "there"}, {"b"});
    add_node(graph, "Mul", {"a", "b"}, {"c"});
    add_node(graph, "Pow", {"c", "two"}, {"d"});
    add_node(graph, "Reshape", {"d", "back"}, {"y"});
    add_node(*cleaned.mutable_graph(), "Mul", {"x", "z"}, {"c"});
    add_node(*cleaned.mutable_graph(), "Pow", {"c", "two"}, {"y"});
    one.change(graph, *cleaned.mutable_graph());
    CHECK(shown(onnx::Model(model, {}), onnx::Model(cleaned, {})).has_value() == !one.is_right);
  }
}

namespace {

/// relu between movements of a [4, 6], each a Transpose or a Reshape with these numbers, and without them.
std::optional<std::string> shown_around_relu(const std::vector<std::pair<std::string, Extents>>& before,
                                             const std::vector<std::pair<std::string, Extents>>& behind) {
  proto::ModelProto model = empty_model();
  declare(*model.mutable_graph()->add_input(), "x", {4, 6});
  declare(*model.mutable_graph()->add_output(), "y", {4, 6});
  proto::ModelProto cleaned = model;
  add_node(*cleaned.mutable_graph(), "Relu", {"x"}, {"y"});
  proto::GraphProto& graph = *model.mutable_graph();
  std::string value = "x";
  const auto add = [&](const std::string& op_type, const Extents& numbers) {
    const std::string result = value + "'";
    if (op_type == "Reshape") {
      proto::TensorProto& shape = *graph.add_initializer();
      shape.set_name("shape of " + result);
      shape.set_data_type(proto::TensorProto::INT64);
      shape.add_dims(static_cast<std::int64_t>(numbers.size()));
      for (const std::int64_t extent : numbers) shape.add_int64_data(extent);
      add_node(graph, "Reshape", {value, shape.name()}, {result});
    } else {
      proto::NodeProto& node = add_node(graph, op_type, {value}, {result});
      if (!numbers.empty()) {
        auto& permutation = add_attribute(node, "perm", proto::AttributeProto::INTS);
        for (const std::int64_t axis : numbers) permutation.add_ints(axis);
      }
    }
    value = result;
  };
  for (const auto& [op_type, numbers] : before) add(op_type, numbers);
  add("Relu", {});
  for (const auto& [op_type, numbers] : behind) add(op_type, numbers);
  graph.mutable_node(graph.node_size() - 1)->set_output(0, "y");
  return shown(onnx::Model(model, {}), onnx::Model(cleaned, {}));
}

}  // namespace

TEST_CASE("views and transposes in sequence may go if they cancel each other, and only then") {
  CHECK_FALSE(
      shown_around_relu({{"Transpose", {1, 0}}, {"Reshape", {3, 2, 4}}}, {{"Reshape", {6, 4}}, {"Transpose", {1, 0}}}));
  CHECK_FALSE(shown_around_relu({{"Reshape", {2, 2, 6}}, {"Transpose", {1, 0, 2}}, {"Reshape", {4, 6}}},
                                {{"Reshape", {2, 2, 6}}, {"Transpose", {1, 0, 2}}, {"Reshape", {4, 6}}}));
  CHECK(shown_around_relu({{"Transpose", {1, 0}}, {"Reshape", {3, 2, 4}}},
                          {{"Reshape", {4, 6}}, {"Transpose", {1, 0}}, {"Reshape", {4, 6}}}));
  CHECK(shown_around_relu(
      {{"Reshape", {2, 2, 6}}, {"Transpose", {1, 0, 2}}, {"Reshape", {4, 6}}},
      {{"Reshape", {2, 2, 6}}, {"Transpose", {1, 0, 2}}, {"Transpose", {1, 0, 2}}, {"Reshape", {4, 6}}}));
}

}  // namespace taso::test
