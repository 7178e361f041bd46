// What opaque nodes report about themselves: their plain function, and whether they can be computed ahead.
#include "onnx/import/node_body.h"

#include "runtime/host/host.h"
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

TEST_CASE("plain functions are called as ONNX calls them, and the host has them all") {
  std::size_t found = 0;
  for (const std::string_view name : runtime::host_functions()) {
    const auto kind = plain_function_named(name);
    const proto::NodeProto node = node_named(name);
    const auto function = make_body(node, 19, {})->function();
    REQUIRE(function.has_value() == kind.has_value());
    if (!kind) continue;
    CHECK(function->kind == *kind);
    CHECK(name_of(*kind) == name);
    ++found;
  }
  CHECK(found == static_cast<std::size_t>(PlainFunction::Kind::dequantise) + 1);
}

TEST_CASE("a plain function has an axis; blocked or differently rounded forms are not plain") {
  for (const char* name : {"QuantizeLinear", "DequantizeLinear"}) {
    const proto::NodeProto node = node_named(name);
    CHECK(make_body(node, 21, {})->function()->axis == 1);
    CHECK(make_body(with(with(node, "axis", -2), "block_size", 0), 21, {})->function()->axis == -2);
    CHECK(!make_body(with(node, "block_size", 16), 21, {})->function());
    CHECK(!make_body(with(node, "precision", 10), 23, {})->function());
    proto::NodeProto without = node;
    without.set_input(0, "");
    CHECK(!make_body(without, 21, {})->function());
    proto::NodeProto foreign = node;
    foreign.set_domain("com.microsoft");
    CHECK(!make_body(foreign, 21, {})->function());
  }
}

TEST_CASE("random, nested and unknown operators are not computed ahead") {
  for (const char* name : {"DequantizeLinear", "Where", "Expand", "Add"})
    CHECK(make_body(node_named(name), 19, {})->is_deterministic());
  for (const char* name : {"RandomNormalLike", "Bernoulli", "NoSuchOperator"})
    CHECK(!make_body(node_named(name), 19, {})->is_deterministic());
}

}  // namespace taso::test
