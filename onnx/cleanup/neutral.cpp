// Removes what changes nothing: operands of element-wise nodes (x + 0, x - 0, x · 1, x / 1, x and true, x or false),
// and initial states of recurrent nodes that are 0.
#include <algorithm>
#include <array>

#include "onnx/cleanup/passes.h"
#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

struct Neutral {
  std::string_view op_type;
  double number;
  bool commutes;
};
constexpr std::array<Neutral, 6> table = {
    {{"Add", 0, true}, {"Sub", 0, false}, {"Mul", 1, true}, {"Div", 1, false}, {"And", 1, true}, {"Or", 0, true}}};

/// Whether every element of the constant is that number.
bool is_all(const Context& context, const std::string& name, double number) {
  const proto::TensorProto* const tensor = context.edit.constant(name);
  if (tensor == nullptr || element_type_from_onnx(tensor->data_type()) == ElementType::undefined) return false;
  const auto bytes = raw_bytes_of(*tensor);
  if (!bytes || *bytes == 0 || *bytes > context.options.memory_limit) return false;
  // Most constants differ in their first element.
  const Array array = read_tensor(*tensor, context.edit.folder());
  const std::vector<double> numbers = array.doubles();
  return std::all_of(numbers.begin(), numbers.end(), [&](double one) { return one == number; });
}

/// Whether the result has the type of that operand, for all values of the unknowns.
bool keeps_type(const Context& context, const std::string& operand, const std::string& result) {
  const auto from = context.imported.values.find(operand), to = context.imported.values.find(result);
  if (from == context.imported.values.end() || to == context.imported.values.end()) return false;
  const Type &old = from->second.type(), &now = to->second.type();
  return old.element != ElementType::undefined && old.shape && old == now;
}

/// Whether every element is 0: a constant, or something that only moves and repeats zeros.
bool is_zero(const Context& context, const std::string& name) {
  static constexpr std::array<std::string_view, 10> movements = {
      "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze"};
  std::string value = name;
  for (;;) {
    if (context.edit.constant(value) != nullptr) return is_all(context, value, 0);
    const proto::NodeProto* const node = context.edit.producer(value);
    if (node == nullptr || !is_default_domain(node->domain()) || opset_of(context.edit.model(), *node) < 7)
      return false;
    if (node->op_type() == "ConstantOfShape") {
      const runtime::Attributes attributes = read_attributes(*node, context.edit.folder());
      const auto number = attributes.array("value");
      return node->attribute_size() == 0 || (number && number->size() == 1 && number->doubles().front() == 0);
    }
    if (node->input_size() == 0) return false;
    if (std::find(movements.begin(), movements.end(), node->op_type()) == movements.end()) return false;
    value = node->input(0);
  }
}

/// The node that computes a value, seen through casts; null if none does.
const proto::NodeProto* maker(const Context& context, const std::string& name) {
  const proto::NodeProto* node = context.edit.producer(name);
  while (node != nullptr && node->op_type() == "Cast" && node->input_size() == 1)
    node = context.edit.producer(node->input(0));
  return node;
}

/// Whether the node scales or shifts something that was just divided or multiplied, by one number per channel. Runtimes
/// recognise the normalisation of layers by these nodes; without them, their own fusion is lost.
bool ends_normalisation(const Context& context, const proto::NodeProto& node, const std::string& operand,
                        const std::string& neutral) {
  const proto::TensorProto* const tensor = context.edit.constant(neutral);
  if (tensor == nullptr || tensor->dims_size() == 0 || (node.op_type() != "Mul" && node.op_type() != "Add"))
    return false;
  const auto is_scaling = [](const proto::NodeProto* one) {
    return one != nullptr && (one->op_type() == "Div" || one->op_type() == "Mul");
  };
  const proto::NodeProto* const before = maker(context, operand);
  if (!is_scaling(before)) return false;
  if (node.op_type() == "Mul") return true;
  return std::any_of(before->input().begin(), before->input().end(), [&](const std::string& name) {
    const proto::NodeProto* const inner = maker(context, name);
    return inner != nullptr && inner->op_type() == "Div";
  });
}

}  // namespace

void initial_state(const Context& context) {
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    const bool is_recurrent = node.op_type() == "LSTM" || node.op_type() == "GRU" || node.op_type() == "RNN";
    if (!is_recurrent || !is_default_domain(node.domain()) || opset_of(context.edit.model(), node) < 7) return;
    std::vector<int> idle;
    for (int i = 5; i < std::min(node.input_size(), 7); ++i)
      if (!node.input(i).empty() && is_zero(context, node.input(i))) idle.push_back(i);
    if (idle.empty()) return;
    context.done.push_back(name_of(node));
    context.edit.modify(node, [&](proto::NodeProto& copy) {
      for (const int i : idle) copy.set_input(i, "");
      while (copy.input_size() > 3 && copy.input(copy.input_size() - 1).empty()) copy.mutable_input()->RemoveLast();
      // A node with other operands is a new one, without annotations.
      proto::NodeProto fresh;
      fresh.set_op_type(copy.op_type());
      fresh.set_name(copy.name());
      fresh.mutable_input()->CopyFrom(copy.input());
      fresh.mutable_output()->CopyFrom(copy.output());
      fresh.mutable_attribute()->CopyFrom(copy.attribute());
      copy = fresh;
    });
  });
}

void neutral_operand(const Context& context) {
  context.edit.for_each_node([&](const proto::NodeProto& node) {
    const auto neutral =
        std::find_if(table.begin(), table.end(), [&](const Neutral& one) { return one.op_type == node.op_type(); });
    if (neutral == table.end() || !is_default_domain(node.domain()) || opset_of(context.edit.model(), node) < 7) return;
    if (node.input_size() != 2 || node.output_size() != 1 || node.attribute_size() > 0) return;
    for (const int kept : {0, 1}) {
      const std::string& operand = node.input(kept);
      if (kept == 1 && !neutral->commutes) continue;
      if (operand.empty() || node.output(0).empty() || !keeps_type(context, operand, node.output(0))) continue;
      if (!is_all(context, node.input(1 - kept), neutral->number)) continue;
      if (ends_normalisation(context, node, operand, node.input(1 - kept))) return;
      std::string name = name_of(node);
      if (bypass(context.edit, node, operand, node.output(0))) context.done.push_back(std::move(name));
      return;
    }
  });
}

}  // namespace taso::onnx::cleanup
