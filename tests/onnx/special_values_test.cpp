// The check of elements that are not finite or very different in size, and of decisions that rounding flips.
#include <functional>

#include "tests/onnx/cleanup/clean_model.h"

namespace taso::test {

using namespace onnx;

namespace {

using Scope = CheckResult::Scope;

CheckResult check_edit(const proto::ModelProto& proto, const std::function<void(GraphEdit&)>& change,
                       const CheckOptions& options = {}) {
  Model model(proto, {});
  model.validate();
  GraphEdit edit(model);
  change(edit);
  return onnx::compare(view_of(model), edit.view(), options);
}

Array floats(const std::vector<float>& values) {
  return Array::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

void set_operand(GraphEdit& edit, const std::string& output, int index, const std::string& name) {
  edit.modify(*edit.producer(output), [&](proto::NodeProto& node) { node.set_input(index, name); });
}

void insert_node(GraphEdit& edit, const std::string& type, const std::vector<std::string>& inputs,
                 const std::string& output) {
  auto node = std::make_unique<proto::NodeProto>();
  node->set_op_type(type);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  edit.add(std::move(node));
}

/// y = type(x) plus an addend, which the edit changes to `added`.
CheckResult check_behind(const std::vector<std::string>& types, float added, const CheckOptions& options = {}) {
  auto model = plain_model({2, 64}, {2, 64});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {1}, {0.25F});
  std::string last = "x";
  for (const std::string& type : types) {
    add_node(graph, type, {last}, {last + type});
    last += type;
  }
  add_node(graph, "Add", {last, "w"}, {"y"});
  return check_edit(
      model,
      [&](GraphEdit& edit) {
        edit.add_constant("w2", Array::of<float>({1}, {added}));
        set_operand(edit, "y", 1, "w2");
      },
      options);
}

}  // namespace

TEST_CASE("NaN on both sides shows nothing: other operands are drawn") {
  // Log of Neg of Exp is never a number; all others are for some draw.
  for (const std::vector<std::string>& types :
       std::vector<std::vector<std::string>>{{"Log"},
                                             {"Sqrt"},
                                             {"Acosh"},
                                             {"Atanh"},
                                             {"Sqrt", "Log"},
                                             {"Neg", "Sqrt"},
                                             {"Exp", "Exp", "Exp", "Exp", "Log"}}) {
    INFO(types.front());
    CHECK(!check_behind(types, 0.3F).passed);
    const CheckResult same = check_behind(types, 0.25F);
    CHECK(same.passed);
    CHECK(same.finite >= 0.05);
  }
}

TEST_CASE("a change without any finite element is not checked, and not passed") {
  auto model = plain_model({2, 8}, {2, 8});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {1}, {-0.5F});
  add_node(graph, "Exp", {"x"}, {"e"});
  add_node(graph, "Neg", {"e"}, {"n"});
  add_node(graph, "Log", {"n"}, {"l"});
  add_node(graph, "Mul", {"l", "w"}, {"y"});
  // Untouched nodes are cut off, and their results are drawn: a node that gives no number must be part of the change.
  const auto wrong = [](GraphEdit& edit) {
    insert_node(edit, "Exp", {"x"}, "f");
    insert_node(edit, "Neg", {"f"}, "m");
    insert_node(edit, "Log", {"m"}, "k");
    edit.modify(*edit.producer("y"), [](proto::NodeProto& node) {
      node.set_op_type("Div");
      node.set_input(0, "k");
    });
    for (const char* name : {"l", "n", "e"}) edit.remove(*edit.producer(name));
  };
  CHECK_THROWS_AS(check_edit(model, wrong), Uncheckable);
  CHECK_THROWS_WITH(check_edit(model, wrong), Catch::Contains("no element of 'y' is finite"));
}

TEST_CASE("a mask of huge numbers does not hide errors beside it") {
  const auto with_mask = [](float mask, std::size_t masked, float error) {
    std::vector<float> expected = some_floats(64), actual = expected;
    for (std::size_t i = 0; i < masked; ++i) expected[i * 3] = actual[i * 3] = mask;
    actual[1] += error;
    double worst = 0;
    return agrees(Array::of<float>({8, 8}, expected), Array::of<float>({8, 8}, actual),
                  Tolerance::of(ElementType::float32), worst);
  };
  for (const float mask : {-3.4e38F, -1e9F, -1e4F, 1e30F})
    for (const std::size_t masked : {1, 10, 20}) {
      INFO(mask << " " << masked);
      CHECK(!with_mask(mask, masked, 0.05F));
      CHECK(with_mask(mask, masked, 1e-6F));
    }
  // Few elements, most of which are the mask.
  for (const float mask : {-3.4e38F, -1e9F}) {
    double worst = 0;
    CHECK(!agrees(floats({1, mask, mask}), floats({1.1F, mask, mask}), Tolerance::of(ElementType::float32), worst));
  }
}

TEST_CASE("a tolerance grows with the terms that a sum may have had") {
  std::vector<float> expected = some_floats(4096), actual;
  for (float& value : expected) value *= 1e6F;
  expected[7] = 1e3F;  // the remainder of large terms
  actual = expected;
  actual[7] += 5;
  double worst = 0;
  CHECK(agrees(Array::of<float>({4096}, expected), Array::of<float>({4096}, actual),
               Tolerance::of(ElementType::float32), worst));
}

namespace {

/// A sum of 1.6, or the next number in another order of addition; its distance above 1.6, enlarged; and a decision on
/// that.
proto::ModelProto with_decision(const std::string& decision) {
  auto model = plain_model({1, 1}, {1, 1});
  auto& graph = *model.mutable_graph();
  graph.clear_input();
  add_floats(graph, "a", {1, 1}, {1.1F});
  add_floats(graph, "b", {1, 1}, {0.2F});
  add_floats(graph, "c", {1, 1}, {0.3F});
  add_floats(graph, "limit", {1, 1}, {1.6F});
  add_floats(graph, "large", {1, 1}, {1e7F});
  add_floats(graph, "zero", {}, {0});
  add_floats(graph, "one", {}, {1});
  add_node(graph, "Add", {"a", "b"}, {"two"});
  add_node(graph, "Add", {"two", "c"}, {"three"});
  add_node(graph, "Sub", {"three", "limit"}, {"rest"});
  add_node(graph, "Mul", {"rest", "large"}, {"grown"});  // 0 or 1.2
  if (decision == "Greater") add_node(graph, "Greater", {"grown", "zero"}, {"whole"});
  if (decision == "Cast") set_integer(add_node(graph, "Cast", {"grown"}, {"whole"}), "to", proto::TensorProto::INT32);
  if (decision == "QuantizeLinear") add_node(graph, "QuantizeLinear", {"grown", "one"}, {"q"});
  if (decision == "DynamicQuantizeLinear") add_node(graph, "DynamicQuantizeLinear", {"grown"}, {"q", "s", "z"});
  if (decision == "Greater" || decision == "Cast")
    set_integer(add_node(graph, "Cast", {"whole"}, {"y"}), "to", proto::TensorProto::FLOAT);
  else if (decision.ends_with("QuantizeLinear"))
    add_node(graph, "DequantizeLinear", {"q", "one"}, {"y"});
  else
    add_node(graph, decision, {"grown"}, {"y"});
  return model;
}

}  // namespace

TEST_CASE("rounding that flips an inner decision does not refuse a correct model") {
  for (const std::string decision : {"Round", "Floor", "Cast", "Greater", "DynamicQuantizeLinear", "QuantizeLinear"}) {
    const auto model = with_decision(decision);
    const auto added = [&](const std::string& first) {
      return check_edit(model, [&](GraphEdit& edit) {
        insert_node(edit, "Add", {"b", first}, "other");
        set_operand(edit, "three", 0, "a");
        set_operand(edit, "three", 1, "other");
      });
    };
    const auto right = added("c");
    INFO(decision << ": " << right.reason);
    CHECK(right.passed);
    CHECK(right.scope == Scope::regions);
    CHECK_THAT(right.reason, Catch::Contains(decision));
    CHECK(!added("b").passed);
  }
}

namespace {

/// y = x z + v z becomes (x + v) z.
CheckResult check_factored(SpecialValues level) {
  auto model = plain_model({4, 64}, {4, 64});
  auto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "v", {4, 64});
  add_floats(graph, "z", {1}, {1e-37F});
  add_floats(graph, "huge", {1}, {1e34F});
  add_node(graph, "Mul", {"x", "huge"}, {"p"});
  add_node(graph, "Mul", {"v", "huge"}, {"q"});
  add_node(graph, "Mul", {"p", "z"}, {"a"});
  add_node(graph, "Mul", {"q", "z"}, {"b"});
  add_node(graph, "Add", {"a", "b"}, {"y"});
  CheckOptions options;
  options.special = level;
  return check_edit(
      model,
      [](GraphEdit& edit) {
        insert_node(edit, "Add", {"p", "q"}, "sum");
        edit.modify(*edit.producer("y"), [](proto::NodeProto& node) {
          node.set_op_type("Mul");
          node.set_input(0, "sum");
          node.set_input(1, "z");
        });
      },
      options);
}

/// A convolution with one tap becomes one with three, two of which are zero.
CheckResult check_enlarged(SpecialValues level) {
  auto model = plain_model({1, 1, 1, 64}, {1, 1, 1, 64});
  auto& graph = *model.mutable_graph();
  add_floats(graph, "w", {1, 1, 1, 1}, {0.5F});
  add_node(graph, "Conv", {"x", "w"}, {"y"});
  CheckOptions options;
  options.special = level;
  return check_edit(
      model,
      [](GraphEdit& edit) {
        edit.add_constant("wide", Array::of<float>({1, 1, 1, 3}, {0, 0.5F, 0}));
        edit.modify(*edit.producer("y"), [](proto::NodeProto& node) {
          node.set_input(1, "wide");
          set_integers(node, "pads", {0, 1, 0, 1});
        });
      },
      options);
}

}  // namespace

TEST_CASE("large inputs must not make more infinities, unless the check only reports") {
  for (const SpecialValues level : {SpecialValues::usual, SpecialValues::strict}) {
    const CheckResult found = check_factored(level);
    CHECK(!found.passed);
    CHECK_THAT(found.reason, Catch::Contains("with large inputs"));
  }
  const CheckResult reported = check_factored(SpecialValues::reported);
  CHECK(reported.passed);
  CHECK(reported.large.lost > 0);
}

TEST_CASE("NaN and infinities among the inputs are reported, and must stay in place in strict mode") {
  const CheckResult usual = check_enlarged(SpecialValues::usual);
  CHECK(usual.passed);
  CHECK(usual.special.lost > 0);
  CHECK(usual.large.lost == 0);
  const CheckResult strict = check_enlarged(SpecialValues::strict);
  CHECK(!strict.passed);
  CHECK_THAT(strict.reason, Catch::Contains("with special inputs"));
}

}  // namespace taso::test
