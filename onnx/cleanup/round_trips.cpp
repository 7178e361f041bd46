// Removes views and transposes that cancel each other around element-wise nodes: Reshape, GELU, Reshape back. The nodes
// between them then work on the shape that is outside.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "onnx/cleanup/passes.h"
#include "onnx/model/proto.h"

namespace taso::onnx::cleanup {
namespace {

constexpr std::array<std::string_view, 26> element_wise = {
    "Abs",       "Add",       "Clip",    "Div",  "Elu", "Erf",      "Exp",      "Gelu", "HardSigmoid",
    "HardSwish", "LeakyRelu", "Log",     "Max",  "Min", "Mul",      "Neg",      "Pow",  "Reciprocal",
    "Relu",      "Selu",      "Sigmoid", "Sqrt", "Sub", "Softplus", "Softsign", "Tanh",
};
/// A region of more nodes is left alone: such formulas are short.
constexpr std::size_t most_nodes = 32;

class RoundTrip {
 public:
  RoundTrip(const Context& context, const proto::NodeProto& last) : context_(context), last_(last) {}

  /// Whether element-wise nodes lead to `last`, and it undoes what was done to their operands.
  bool find() {
    if (!is_movement(last_) || context_.edit.uses(last_.input(0)) != 1) return false;
    inside_ = value(last_.input(0))->type();
    outside_ = value(last_.output(0))->type();
    if (!is_floating(inside_.element) || !collect(last_.input(0))) return false;
    return !region_.empty() && !firsts_.empty() && is_closed();
  }

  void remove() {
    GraphEdit& edit = context_.edit;
    std::map<std::string, std::string> names;  // of the values in the region, from now on
    for (const std::string& first : firsts_) names[first] = edit.producer(first)->input(0);
    const std::string result = last_.output(0), inner = last_.input(0);
    edit.remove(last_);
    for (const std::string& name : region_) {  // operands come first
      names[name] = name == inner ? result : edit.fresh_name(name + "_flat");
      edit.modify(*edit.producer(name), [&](proto::NodeProto& copy) {
        for (std::string& input : *copy.mutable_input())
          if (const auto now = names.find(input); now != names.end()) input = now->second;
        copy.set_output(0, names[name]);
      });
    }
    for (const std::string& first : firsts_)
      if (edit.uses(first) == 0) edit.remove(*edit.producer(first));
  }

 private:
  const Value* value(const std::string& name) const {
    const auto found = context_.imported.values.find(name);
    return found != context_.imported.values.end() && found->second.type().shape ? &found->second : nullptr;
  }

  /// The operator that a node was lowered to, if it is this one.
  template <class Op>
  const Op* lowered(const proto::NodeProto& node) const {
    const Value* const result = value(node.output(0));
    const Operator* const op = result != nullptr ? result->node->as_operator() : nullptr;
    const Value* const operand = value(node.input(0));
    if (op == nullptr || operand == nullptr || result->node->inputs()[0] != *operand) return nullptr;
    return std::get_if<Op>(op);
  }

  bool is_movement(const proto::NodeProto& node) const {
    if (!is_default_domain(node.domain()) || opset_of(context_.edit.model(), node) < 7) return false;
    if (node.output_size() != 1 || node.input_size() == 0 || node.input(0).empty()) return false;
    return lowered<op::Reshape>(node) != nullptr || lowered<op::Transpose>(node) != nullptr;
  }

  /// Whether `first` and then `last_` change nothing.
  bool cancels(const proto::NodeProto& first) const {
    const Value* const before = is_movement(first) ? value(first.input(0)) : nullptr;
    if (before == nullptr || !(before->type() == outside_)) return false;
    const auto *inner = lowered<op::Transpose>(first), *outer = lowered<op::Transpose>(last_);
    if (inner == nullptr && outer == nullptr) return true;  // views
    if (inner == nullptr || outer == nullptr) return false;
    for (std::size_t i = 0; i < outer->permutation.size(); ++i)
      if (inner->permutation[static_cast<std::size_t>(outer->permutation[i])] != static_cast<std::int64_t>(i))
        return false;
    return true;
  }

  /// Whether an operand is one number for all elements, of a rank that does not matter on either side.
  bool is_number(const std::string& name) const {
    const Value* const found = value(name);
    if (found == nullptr || context_.edit.constant(name) == nullptr) return false;
    const Shape& shape = found->shape();
    return shape.size() <= std::min(inside_.shape->size(), outside_.shape->size()) &&
           std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim == Dim(1); });
  }

  bool is_element_wise(const proto::NodeProto& node) const {
    if (!is_default_domain(node.domain()) || opset_of(context_.edit.model(), node) < 7 || node.output_size() != 1)
      return false;
    if (std::find(element_wise.begin(), element_wise.end(), node.op_type()) == element_wise.end()) return false;
    const Value* const result = value(node.output(0));
    return result != nullptr && result->node->as_operator() != nullptr && result->type() == inside_;
  }

  /// Adds the nodes that compute a value from movements that `last_` undoes; false if there is anything else.
  bool collect(const std::string& name) {
    if (seen_.contains(name)) return true;
    const proto::NodeProto* const node = context_.edit.producer(name);
    if (node == nullptr || seen_.size() == most_nodes) return false;
    seen_.insert(name);
    if (cancels(*node)) {
      firsts_.push_back(name);
      return value(name)->type() == inside_;
    }
    if (!is_element_wise(*node)) return false;
    for (const std::string& input : node->input())
      if (!input.empty() && !is_number(input) && !collect(input)) return false;
    region_.push_back(name);
    return true;
  }

  /// Whether nothing outside uses the values inside.
  bool is_closed() const {
    for (const std::string& name : region_) {
      std::size_t uses = name == last_.input(0) ? 1 : 0;
      for (const std::string& other : region_) {
        const auto& inputs = context_.edit.producer(other)->input();
        uses += static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), name));
      }
      if (uses != context_.edit.uses(name)) return false;
    }
    return true;
  }

  const Context& context_;
  const proto::NodeProto& last_;
  Type inside_, outside_;
  std::set<std::string> seen_;
  std::vector<std::string> region_;  // values that nodes between compute, operands first
  std::vector<std::string> firsts_;  // results of the movements before them
};

}  // namespace

void round_trips(const Context& context) {
  std::vector<const proto::NodeProto*> nodes;
  context.edit.for_each_node([&](const proto::NodeProto& node) { nodes.push_back(&node); });
  for (const proto::NodeProto* const node : nodes) {
    // Values that keep their names keep their types, so the next one may be found by those before the pass.
    if (context.edit.current(*node) != node) continue;
    RoundTrip trip(context, *node);
    if (!trip.find()) continue;
    context.done.push_back(name_of(*node));
    trip.remove();
  }
}

}  // namespace taso::onnx::cleanup
