// Replaces computed operands of Reshape by constants: 0 keeps an extent of the operand, -1 stands for the rest.
#include <algorithm>

#include "onnx/cleanup/passes.h"
#include "onnx/model/proto.h"
#include "runtime/host/inference/rules.h"

namespace taso::onnx::cleanup {

std::optional<std::vector<std::int64_t>> reshape_target(const Shape& from, const Shape& to) {
  std::vector<std::int64_t> target;
  bool has_rest = false, has_unknown = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_static()) {
      if (to[i].value() < 1) return std::nullopt;
      target.push_back(to[i].value());
    } else if (i < from.size() && from[i] == to[i]) {
      target.push_back(0);
      has_unknown = true;
    } else {
      if (has_rest) return std::nullopt;
      target.push_back(-1);
      has_rest = true;
    }
  }
  // Next to an extent that is 0 at run time, a rest cannot be told.
  const auto any_vanishes = [](const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), runtime::inference::may_vanish);
  };
  if (has_rest && has_unknown && (any_vanishes(from) || any_vanishes(to))) return std::nullopt;
  return target;
}

void reshape_targets(const Context& context) {
  GraphEdit& edit = context.edit;
  edit.for_each_node([&](const proto::NodeProto& node) {
    if (node.op_type() != "Reshape" || !is_default_domain(node.domain()) || opset_of(edit.model(), node) < 7) return;
    if (node.input_size() != 2 || node.output_size() != 1 || edit.constant(node.input(1)) != nullptr) return;
    const auto from = context.imported.values.find(node.input(0)), to = context.imported.values.find(node.output(0));
    if (from == context.imported.values.end() || to == context.imported.values.end()) return;
    // Where the import could not follow the target, the node is opaque.
    const Operator* const op = to->second.node->as_operator();
    if (op == nullptr || !std::holds_alternative<op::Reshape>(*op) || !from->second.type().shape) return;
    const auto target = reshape_target(from->second.shape(), to->second.shape());
    if (!target) return;
    std::string name = name_of(node);
    const std::string constant = edit.fresh_name(node.output(0) + "_shape");
    edit.add_constant(constant, Array::of<std::int64_t>({static_cast<std::int64_t>(target->size())}, *target));
    edit.modify(node, [&](proto::NodeProto& copy) {
      copy.set_input(1, constant);
      if (copy.attribute_size() == 0 || std::find(target->begin(), target->end(), 0) == target->end()) return;
      // allowzero would make 0 mean 0. A node whose attributes change is a new one, without annotations.
      proto::NodeProto fresh;
      fresh.set_op_type(copy.op_type());
      fresh.set_name(copy.name());
      fresh.mutable_input()->CopyFrom(copy.input());
      fresh.mutable_output()->CopyFrom(copy.output());
      copy = fresh;
    });
    context.done.push_back(std::move(name));
  });
}

}  // namespace taso::onnx::cleanup
