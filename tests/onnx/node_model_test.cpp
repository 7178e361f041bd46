// Nodes that no rule knows as models of their own: they compute the same, and equal texts mean equal work.
#include "onnx/export/node_model.h"

#include <functional>

#include "onnx/import/foreign_text.h"
#include "onnx/import/import.h"
#include "ops/graph/foreign_node.h"
#include "runtime/host/interpreter.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

using namespace onnx;

namespace {

/// A node with its operands; the constants among them are known to the body.
struct Example {
  proto::NodeProto node;
  std::vector<std::optional<Array>> operands;
  Constants constants;
  std::shared_ptr<const OpaqueBody> body() const {
    proto::ModelProto model;
    model.add_opset_import()->set_version(18);
    return make_body(model, node, {}, constants);
  }
};

proto::NodeProto node_of(std::string_view op_type, std::size_t outputs, const std::vector<std::string>& inputs) {
  proto::NodeProto node;
  node.set_op_type(std::string(op_type));
  for (const std::string& input : inputs) node.add_input(input);
  for (std::size_t i = 0; i < outputs; ++i) node.add_output("y" + std::to_string(i));
  return node;
}

Array floats(Extents extents, std::uint64_t seed) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count(extents); ++i) numbers.push_back(static_cast<float>((i * 7 + seed) % 11) - 5);
  return Array::of<float>(std::move(extents), numbers);
}

std::vector<Example> examples() {
  std::vector<Example> list;
  Example top{node_of("TopK", 2, {"x", "k"}), {floats({3, 5}, 1), Array::of<std::int64_t>({1}, {2})}, {}};
  add_attribute(top.node, "axis", proto::AttributeProto::INT).set_i(1);
  top.constants = {std::nullopt, top.operands[1]};
  list.push_back(top);
  Example clip{node_of("Clip", 1, {"x", "", "most"}), {floats({4}, 2), std::nullopt, Array::scalar(2.0F)}, {}};
  list.push_back(clip);
  list.push_back({node_of("DynamicQuantizeLinear", 3, {"x"}), {floats({2, 3}, 3)}, {}});
  Example gather{
      node_of("GatherElements", 1, {"x", "at"}), {floats({2, 2}, 4), Array::of<std::int64_t>({2, 1}, {1, 0})}, {}};
  add_attribute(gather.node, "axis", proto::AttributeProto::INT).set_i(1);
  list.push_back(gather);
  Example sum{node_of("CumSum", 1, {"x", "axis"}), {floats({2, 4}, 5), Array::of<std::int64_t>({}, {1})}, {}};
  add_attribute(sum.node, "reverse", proto::AttributeProto::INT).set_i(1);
  sum.constants = {std::nullopt, sum.operands[1]};
  list.push_back(sum);
  return list;
}

Type type_of(const Array& array) { return {array.type(), shape_of(array.extents())}; }

}  // namespace

TEST_CASE("a node by itself computes what it computes in a model") {
  for (const Example& example : examples()) {
    INFO(example.node.op_type());
    const auto body = example.body();
    const std::vector<Array> expected = body->run(example.operands);
    NodeModel around;
    around.copies = 3;
    for (const auto& operand : example.operands)
      around.operands.push_back(operand ? std::optional(type_of(*operand)) : std::nullopt);
    for (const Array& result : expected) around.results.emplace_back(type_of(result));
    around.content = [&](std::size_t, std::size_t operand) {
      return operand < example.constants.size() ? example.constants[operand] : std::nullopt;
    };
    Model model = write_node(*parts_of(*body), around);
    model.validate();
    CHECK(model.proto().opset_import(0).version() == 18);
    std::vector<Array> inputs;
    for (std::size_t copy = 0; copy < around.copies; ++copy)
      for (std::size_t i = 0; i < example.operands.size(); ++i)
        if (example.operands[i] && !around.content(copy, i)) inputs.push_back(*example.operands[i]);
    const std::vector<Array> actual = runtime::interpret(import_model(view_of(model)).graph, inputs);
    REQUIRE(actual.size() == 3 * expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) CHECK(identical(actual[i], expected[i % expected.size()]));
  }
}

TEST_CASE("the text of a node has all that its time depends on") {
  const Example top = examples().front();
  const auto text = [](const Example& example) {
    const auto body = example.body();
    return dynamic_cast<const ForeignNode&>(*body).foreign_text();
  };
  CHECK(text(top) == "TopK opset 18{axis=1, 1:[2]}");
  std::vector<std::function<void(Example&)>> changes{
      [](Example& one) { one.node.mutable_attribute(0)->set_i(0); },
      [](Example& one) { one.constants[1] = Array::of<std::int64_t>({1}, {3}); },
      [](Example& one) { one.node.set_op_type("Other"); },
      [](Example& one) { add_attribute(one.node, "largest", proto::AttributeProto::INT).set_i(0); },
      [](Example& one) {
        auto& list = add_attribute(one.node, "long", proto::AttributeProto::INTS);
        for (int i = 0; i < 40; ++i) list.add_ints(i);
      },
  };
  for (const auto& change : changes) {
    Example changed = top;
    change(changed);
    CHECK(text(changed) != text(top));
    CHECK(text(changed).find('\n') == std::string::npos);
    CHECK(text(changed).size() < 100);
  }
  Example renamed = top;
  renamed.node.set_name("another");
  renamed.node.set_output(0, "z");
  CHECK(text(renamed) == text(top));
}

TEST_CASE("a node that needs more than its operands has no text") {
  proto::NodeProto branch = node_of("If", 1, {"c"});
  add_attribute(branch, "then_branch", proto::AttributeProto::GRAPH).mutable_g()->set_name("inside");
  CHECK(text_of_foreign(branch, 18, {}, {}).empty());
  CHECK(text_of_foreign(node_of("Relu", 1, {"x"}), 0, {}, {}).empty());
  proto::NodeProto custom = node_of("FastGelu", 1, {"x"});
  custom.set_domain("com.microsoft");
  CHECK(text_of_foreign(custom, 1, {}, {}) == "com.microsoft.FastGelu opset 1");
}

}  // namespace taso::test
