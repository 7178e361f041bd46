// What opaque nodes report about themselves: their plain function, and whether they can be computed ahead.
#include "onnx/import/node_body.h"

#include "ops/graph/plain_function.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

namespace {

proto::NodeProto with(proto::NodeProto node, const char* name, std::int64_t value) {
  add_attribute(node, name, proto::AttributeProto::INT).set_i(value);
  return node;
}

/// With operands, because no kernel computes a node without them.
proto::NodeProto node_named(std::string_view op_type) {
  proto::NodeProto node;
  for (const char* operand : {"x", "y"}) node.add_input(operand);
  node.set_op_type(std::string(op_type));
  return node;
}

}  // namespace

TEST_CASE("a node that the host can run says what a device needs to know") {
  const proto::NodeProto node = with(node_named("Softmax"), "axis", -2);
  const auto body = make_body(node, 19, {});
  REQUIRE(body->function() != nullptr);
  CHECK(body->function()->name == "Softmax");
  CHECK(body->function()->opset == 19);
  CHECK(body->function()->attributes.integer("axis", 0) == -2);
  proto::NodeProto foreign = node;
  foreign.set_domain("com.microsoft");
  CHECK(make_body(foreign, 21, {})->function() == nullptr);
  CHECK(make_body(node_named("RandomNormalLike"), 21, {})->function() == nullptr);
}

TEST_CASE("random, nested and unknown operators are not computed ahead") {
  for (const char* name : {"DequantizeLinear", "Where", "Expand", "Add"})
    CHECK(make_body(node_named(name), 19, {})->is_deterministic());
  for (const char* name : {"RandomNormalLike", "Bernoulli", "NoSuchOperator"})
    CHECK(!make_body(node_named(name), 19, {})->is_deterministic());
}

}  // namespace taso::test
