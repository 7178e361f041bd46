#include "cli/opt/input_shape.h"

#include <cctype>

#include "cli/console/exit_code.h"
#include "onnx/model/proto.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

/// x of the given shape and y of [N], their sum, and the shape of x. A dimension of 0 or less is unnamed, "N" is N.
onnx::Model model_with_input(const std::vector<std::string>& dims) {
  proto::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  const auto declare = [](proto::ValueInfoProto& value, const std::string& name,
                          const std::vector<std::string>& shape) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(proto::TensorProto::FLOAT);
    auto& proto = *type.mutable_shape();
    for (const auto& dim : shape) {
      auto& added = *proto.add_dim();
      if (dim == "?") continue;
      if (std::isdigit(static_cast<unsigned char>(dim[0]))) {
        added.set_dim_value(std::stoll(dim));
      } else {
        added.set_dim_param(dim);
      }
    }
  };
  declare(*graph.add_input(), "x", dims);
  declare(*graph.add_output(), "z", dims);
  declare(*graph.add_value_info(), "t", dims);
  for (const auto& [from, to] : {std::pair("x", "t"), std::pair("t", "z")}) {
    auto& node = *graph.add_node();
    node.set_op_type("Relu");
    node.add_input(from);
    node.add_output(to);
  }
  return onnx::Model(std::move(model), ".");
}

std::string dims_of(const proto::ValueInfoProto& value) {
  std::string text;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    text += (text.empty() ? "" : ",") + (dim.has_dim_value()   ? std::to_string(dim.dim_value())
                                         : dim.has_dim_param() ? dim.dim_param()
                                                               : "?");
  return text;
}

TEST_CASE("shapes are split at the last colon, with commas or crosses") {
  CHECK(parse_input_shape("x:1,3,224,224") == InputShape{"x", {1, 3, 224, 224}});
  CHECK(parse_input_shape("x:1x3x224x224") == InputShape{"x", {1, 3, 224, 224}});
  CHECK(parse_input_shape("input:0:7") == InputShape{"input:0", {7}});
  CHECK(parse_input_shape("1,2") == InputShape{std::nullopt, {1, 2}});
  CHECK(parse_input_shape("5") == InputShape{std::nullopt, {5}});
  for (const char* text : {"", "x", "x:", ":1,2", "x:1,", "x:,1", "x:1,x2", "x:1x2,3", "x:0", "x:-1", "x:1.5", "x:1, 2",
                           "x:99999999999999999999", "x:4294967296,4294967296"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_input_shape(text), UsageError);
  }
}

TEST_CASE("shapes for the check must fit the model") {
  const onnx::Model model = model_with_input({"N", "3", "?"});
  const auto shapes = [&](std::vector<InputShape> given) { return test_shapes(model.proto(), given); };
  CHECK(shapes({{std::nullopt, {2, 3, 4}}}) == std::map<std::string, Extents>{{"x", {2, 3, 4}}});
  CHECK(shapes({{"x", {2, 3, 4}}}) == std::map<std::string, Extents>{{"x", {2, 3, 4}}});
  CHECK_THROWS_AS(shapes({{"y", {2, 3, 4}}}), UsageError);
  CHECK_THROWS_AS(shapes({{"x", {2, 3}}}), UsageError);
  CHECK_THROWS_AS(shapes({{"x", {2, 4, 4}}}), UsageError);
  CHECK_THROWS_AS(shapes({{"x", {2, 3, 4}}, {std::nullopt, {2, 3, 4}}}), UsageError);
  CHECK_THROWS_AS(test_shapes(model_with_input({"2", "3"}).proto(), std::vector<InputShape>{{"x", {4, 3}}}),
                  UsageError);
}

TEST_CASE("overwriting a named dimension replaces the name everywhere") {
  onnx::Model model = model_with_input({"N", "3", "?"});
  overwrite_input_shapes(model, std::vector<InputShape>{{"x", {2, 3, 4}}});
  const auto& graph = model.proto().graph();
  CHECK(dims_of(graph.input(0)) == "2,3,4");
  CHECK(dims_of(graph.value_info(0)) == "2,3,?");
  CHECK(dims_of(graph.output(0)) == "2,3,4");
}

TEST_CASE("overwriting a batch drops stale shapes; other numbers stay") {
  onnx::Model model = model_with_input({"1", "3", "N"});
  overwrite_input_shapes(model, std::vector<InputShape>{{"x", {8, 3, 5}}});
  const auto& graph = model.proto().graph();
  CHECK(dims_of(graph.input(0)) == "8,3,5");
  CHECK_FALSE(graph.value_info(0).type().tensor_type().has_shape());
  CHECK(dims_of(graph.output(0)) == "8,3,5");

  const std::string before = model.serialise();
  CHECK_THROWS_AS(overwrite_input_shapes(model, std::vector<InputShape>{{"x", {8, 4, 5}}}), UsageError);
  CHECK_THROWS_AS(overwrite_input_shapes(model, std::vector<InputShape>{{"x", {8, 3}}}), UsageError);
  onnx::Model square = model_with_input({"N", "N"});
  CHECK_THROWS_AS(overwrite_input_shapes(square, std::vector<InputShape>{{"x", {2, 3}}}), UsageError);
  CHECK(model.serialise() == before);
  CHECK(dims_of(square.proto().graph().input(0)) == "N,N");
}

}  // namespace
}  // namespace taso::test
