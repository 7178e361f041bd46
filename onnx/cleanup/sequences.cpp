// Joins nodes in sequence: several views become one Reshape, two transposes one, two slices one, and a matrix product
// with a sum behind it one Gemm. Views around an element-wise node or a transpose that cancel each other are omitted.
#include <algorithm>

#include "onnx/cleanup/passes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx::cleanup {
namespace {

/// The operator that a node with one result was lowered to, if that operator reads the node's first operand.
template <class Op>
const Op* lowered_to(const Context& context, const proto::NodeProto& node) {
  const auto& values = context.imported.values;
  if (node.output_size() != 1 || node.input_size() == 0 || node.input(0).empty()) return nullptr;
  const auto from = values.find(node.input(0)), to = values.find(node.output(0));
  if (from == values.end() || to == values.end() || to->second.node->as_operator() == nullptr) return nullptr;
  const Op* const op = std::get_if<Op>(to->second.node->as_operator());
  return op != nullptr && to->second.node->inputs()[0] == from->second ? op : nullptr;
}

/// Whether a transpose keeps the order of all axes but those of extent 1.
bool is_view(const op::Transpose& transpose, const Shape& shape) {
  std::int64_t last = -1;
  for (const std::int64_t axis : transpose.permutation) {
    if (shape[static_cast<std::size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// Whether the node's result has the elements of its first operand in the same order.
bool is_view(const Context& context, const proto::NodeProto& node) {
  if (!is_default_domain(node.domain())) return false;
  if (lowered_to<op::Reshape>(context, node) != nullptr) return true;
  const auto* const transpose = lowered_to<op::Transpose>(context, node);
  if (transpose == nullptr || !is_view(*transpose, context.imported.values.at(node.input(0)).shape())) return false;
  // Runtimes recognise attention by the transposes behind its products and reshapes, also where one axis has extent 1.
  const proto::NodeProto* const first = context.edit.producer(node.input(0));
  return transpose->permutation.size() != 4 || first == nullptr ||
         (first->op_type() != "MatMul" && first->op_type() != "Reshape");
}

/// A node that can be joined with the one that uses its result: that one is its only user.
const proto::NodeProto* before(const Context& context, const proto::NodeProto& node) {
  const std::string& operand = node.input(0);
  if (context.edit.uses(operand) != 1) return nullptr;
  return context.edit.producer(operand);
}

/// The node with another operator, operands and attributes; the result keeps its name.
void rewrite(GraphEdit& edit, const proto::NodeProto& node, const std::string& op_type,
             const std::vector<std::string>& inputs, const std::vector<std::int64_t>& permutation = {}) {
  edit.modify(node, [&](proto::NodeProto& copy) {
    proto::NodeProto fresh;
    fresh.set_op_type(op_type);
    fresh.set_name(copy.name());
    for (const std::string& input : inputs) fresh.add_input(input);
    fresh.mutable_output()->CopyFrom(copy.output());
    if (!permutation.empty()) {
      proto::AttributeProto& attribute = *fresh.add_attribute();
      attribute.set_name("perm");
      attribute.set_type(proto::AttributeProto::INTS);
      for (const std::int64_t axis : permutation) attribute.add_ints(axis);
    }
    copy = fresh;
  });
}

/// Whether the value is a part of a shape. Runtimes recognise attention by its arithmetic on shapes, which costs
/// little.
bool is_of_shape(const Value& value) {
  return value.type().element == ElementType::int64 && value.type().shape && value.shape().size() <= 1;
}

bool join_views(const Context& context, const proto::NodeProto& node) {
  if (!is_view(context, node) || is_of_shape(context.imported.values.at(node.output(0)))) return false;
  std::vector<const proto::NodeProto*> joined;
  const proto::NodeProto* first = &node;
  for (const proto::NodeProto* next = before(context, node); next != nullptr && is_view(context, *next);
       next = before(context, *next)) {
    joined.push_back(next);
    first = next;
  }
  if (joined.empty()) return false;
  const std::string input = first->input(0), output = node.output(0);
  const Value &from = context.imported.values.at(input), &to = context.imported.values.at(output);
  GraphEdit& edit = context.edit;
  if (from.type() == to.type()) {
    if (!bypass(edit, node, input, output)) return false;
  } else {
    const auto target = reshape_target(from.shape(), to.shape());
    if (!target) return false;
    const std::string constant = edit.fresh_name(output + "_shape");
    edit.add_constant(constant, Array::of<std::int64_t>({static_cast<std::int64_t>(target->size())}, *target));
    rewrite(edit, node, "Reshape", {input, constant});
  }
  for (const proto::NodeProto* gone : joined) edit.remove(*gone);
  return true;
}

bool join_transposes(const Context& context, const proto::NodeProto& node) {
  const auto* const outer = lowered_to<op::Transpose>(context, node);
  const proto::NodeProto* const first = outer != nullptr ? before(context, node) : nullptr;
  const auto* const inner = first != nullptr ? lowered_to<op::Transpose>(context, *first) : nullptr;
  if (inner == nullptr || node.op_type() != "Transpose" || first->op_type() != "Transpose") return false;
  std::vector<std::int64_t> permutation;
  for (const std::int64_t axis : outer->permutation)
    permutation.push_back(inner->permutation[static_cast<std::size_t>(axis)]);
  const std::string input = first->input(0), output = node.output(0);
  GraphEdit& edit = context.edit;
  if (std::is_sorted(permutation.begin(), permutation.end())) {
    if (!bypass(edit, node, input, output)) return false;
  } else {
    rewrite(edit, node, "Transpose", {input}, permutation);
  }
  edit.remove(*first);
  return true;
}

std::optional<Extents> extents_if_known(const Type& type) {
  if (!type.shape) return std::nullopt;
  Extents extents;
  for (const Dim& dim : *type.shape) {
    if (!dim.known()) return std::nullopt;
    extents.push_back(*dim.known());
  }
  return extents;
}

/// The shape in which an operand broadcasts to `to` as it broadcasts to `from` in its own shape; both have the same
/// elements. Nothing if there is none: within axes that become others, it must have all elements or one.
std::optional<Extents> shape_after(const Extents& operand, const Extents& from, const Extents& to) {
  if (operand.size() > from.size()) return std::nullopt;
  Extents own(from.size() - operand.size(), 1), result;
  own.insert(own.end(), operand.begin(), operand.end());
  for (std::size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    // The fewest axes of both shapes with the same number of elements.
    const std::size_t first = i, begin = j;
    std::int64_t have = i < from.size() ? from[i++] : 1, want = j < to.size() ? to[j++] : 1;
    while (have != want) {
      if (have < want ? i == from.size() : j == to.size()) return std::nullopt;
      have < want ? have *= from[i++] : want *= to[j++];
    }
    const bool is_whole =
        std::equal(own.begin() + static_cast<std::ptrdiff_t>(first), own.begin() + static_cast<std::ptrdiff_t>(i),
                   from.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t k = first; k < i && !is_whole; ++k)
      if (own[k] != 1) return std::nullopt;
    for (std::size_t k = begin; k < j; ++k) result.push_back(is_whole ? to[k] : 1);
  }
  return result;
}

bool is_element_wise(const proto::NodeProto& node) {
  static constexpr std::string_view names[] = {"Add", "Sub", "Mul", "Div"};
  return is_default_domain(node.domain()) && node.input_size() == 2 && node.output_size() == 1 &&
         std::find(std::begin(names), std::end(names), node.op_type()) != std::end(names);
}

/// view(f(view(x), c)) = f(x, c') if the views cancel each other, with a constant c in another shape.
bool drop_views_around(const Context& context, const proto::NodeProto& node) {
  const auto& values = context.imported.values;
  GraphEdit& edit = context.edit;
  if (lowered_to<op::Reshape>(context, node) == nullptr || !is_default_domain(node.domain())) return false;
  const proto::NodeProto* const middle = before(context, node);
  if (middle == nullptr || !is_element_wise(*middle)) return false;
  const Type &outer = values.at(node.output(0)).type(), &inner = values.at(middle->output(0)).type();
  const auto to = extents_if_known(outer), from = extents_if_known(inner);
  if (!to || !from || !is_floating(outer.element)) return false;
  for (const int place : {0, 1}) {
    const std::string &viewed = middle->input(place), &other = middle->input(1 - place);
    const proto::NodeProto* const first = edit.uses(viewed) == 1 ? edit.producer(viewed) : nullptr;
    if (first == nullptr || lowered_to<op::Reshape>(context, *first) == nullptr || edit.constant(other) == nullptr)
      continue;
    if (!(values.at(viewed).type() == inner) || !(values.at(first->input(0)).type() == outer)) continue;
    const proto::NodeProto* const source = edit.producer(first->input(0));
    if (source != nullptr && lowered_to<op::Reshape>(context, *source) != nullptr) continue;  // views are joined first
    const auto own = extents_if_known(values.at(other).type());
    const auto shape = own ? shape_after(*own, *from, *to) : std::nullopt;
    if (!shape) continue;
    const std::string reshaped = edit.fresh_name(other + "_reshaped"), target = edit.fresh_name(reshaped + "_shape");
    edit.add_constant(target, Array::of<std::int64_t>({static_cast<std::int64_t>(shape->size())}, *shape));
    auto reshape = std::make_unique<proto::NodeProto>();
    reshape->set_op_type("Reshape");
    reshape->add_input(other);
    reshape->add_input(target);
    reshape->add_output(reshaped);
    edit.add(std::move(reshape));
    std::vector<std::string> inputs{first->input(0), reshaped};
    if (place == 1) std::swap(inputs[0], inputs[1]);
    rewrite(edit, node, middle->op_type(), inputs);
    edit.remove(*middle);
    edit.remove(*first);
    return true;
  }
  return false;
}

/// view(transpose(view(x))) = transpose(x) if the first view joins axes that the second takes apart again. PyTorch
/// exports the transpose of keys so, for any number of batch dimensions.
bool drop_views_around_transpose(const Context& context, const proto::NodeProto& node) {
  const auto& values = context.imported.values;
  if (lowered_to<op::Reshape>(context, node) == nullptr) return false;
  const proto::NodeProto* const middle = before(context, node);
  const auto* const transpose = middle != nullptr ? lowered_to<op::Transpose>(context, *middle) : nullptr;
  const proto::NodeProto* const first = transpose != nullptr ? before(context, *middle) : nullptr;
  if (first == nullptr || lowered_to<op::Reshape>(context, *first) == nullptr) return false;
  const std::string input = first->input(0);
  const auto from = extents_if_known(values.at(input).type()),
             joined = extents_if_known(values.at(first->output(0)).type()),
             to = extents_if_known(values.at(node.output(0)).type());
  if (!from || !joined || !to) return false;
  std::vector<std::vector<std::int64_t>> parts;  // the axes of x that each axis of the transpose consists of
  std::size_t next = 0;
  for (const std::int64_t extent : *joined) {
    parts.emplace_back();
    for (std::int64_t product = 1; product != extent; product *= (*from)[next++]) {
      if (next == from->size() || product > extent) return false;
      parts.back().push_back(static_cast<std::int64_t>(next));
    }
  }
  // Axes of extent 1 that come and go cost nothing.
  const auto is_joined = [&](const std::vector<std::int64_t>& axes) {
    return std::count_if(axes.begin(), axes.end(),
                         [&](std::int64_t axis) { return (*from)[static_cast<std::size_t>(axis)] != 1; }) > 1;
  };
  if (std::none_of(parts.begin(), parts.end(), is_joined)) return false;
  std::vector<std::int64_t> permutation;
  Extents moved;
  for (const std::int64_t axis : transpose->permutation)
    for (const std::int64_t part : parts[static_cast<std::size_t>(axis)]) {
      permutation.push_back(part);
      moved.push_back((*from)[static_cast<std::size_t>(part)]);
    }
  if (permutation.size() != from->size() || moved != *to) return false;
  rewrite(context.edit, node, "Transpose", {input}, permutation);
  context.edit.remove(*middle);
  context.edit.remove(*first);
  return true;
}

/// The elements of a constant operand of one dimension; nothing if it is not one.
std::optional<std::vector<std::int64_t>> list_of(const Context& context, const proto::NodeProto& node, int operand) {
  const proto::TensorProto* const tensor =
      operand < node.input_size() ? context.edit.constant(node.input(operand)) : nullptr;
  if (tensor == nullptr || tensor->dims_size() != 1 || tensor->dims(0) > 16) return std::nullopt;
  const Array array = read_tensor(*tensor, context.edit.folder());
  if (array.type() != ElementType::int64 && array.type() != ElementType::int32) return std::nullopt;
  return array.integers();
}

/// What a Slice cuts, axis by axis.
struct Cuts {
  std::vector<std::int64_t> starts, ends, axes, steps;
};

std::optional<Cuts> cuts_of(const Context& context, const proto::NodeProto& node) {
  if (node.op_type() != "Slice" || !is_default_domain(node.domain()) || opset_of(context.edit.model(), node) < 10)
    return std::nullopt;
  // A slice that is not modelled may have a meaning that depends on sizes.
  if (node.output_size() != 1 || context.imported.values.at(node.output(0)).node->as_operator() == nullptr)
    return std::nullopt;
  const auto starts = list_of(context, node, 1), ends = list_of(context, node, 2);
  if (!starts || !ends) return std::nullopt;
  const auto optional = [&](int operand, const auto& otherwise) -> std::optional<std::vector<std::int64_t>> {
    if (operand < node.input_size() && !node.input(operand).empty()) return list_of(context, node, operand);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < starts->size(); ++i) values.push_back(otherwise(i));
    return values;
  };
  const auto axes = optional(3, [](std::size_t i) { return static_cast<std::int64_t>(i); });
  const auto steps = optional(4, [](std::size_t) { return std::int64_t{1}; });
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  Cuts cuts{*starts, *ends, *axes, *steps};
  const auto rank = static_cast<std::int64_t>(context.imported.values.at(node.input(0)).shape().size());
  for (std::int64_t& axis : cuts.axes) axis += axis < 0 ? rank : 0;
  return cuts;
}

/// Joins the slices of a slice with it, if all of its users are such: then it is not needed any more.
bool join_slices(const Context& context, const proto::NodeProto& first) {
  const auto inner = cuts_of(context, first);
  GraphEdit& edit = context.edit;
  if (!inner) return false;
  const std::vector<const proto::NodeProto*> users = edit.consumers(first.output(0));
  if (users.empty() || users.size() != edit.uses(first.output(0))) return false;
  std::vector<Cuts> all;
  for (const proto::NodeProto* user : users) {
    const auto outer = cuts_of(context, *user);
    if (!outer || user->input(0) != first.output(0)) return false;
    for (const std::int64_t axis : outer->axes)
      if (std::find(inner->axes.begin(), inner->axes.end(), axis) != inner->axes.end()) return false;
    all.push_back(*outer);
  }
  for (std::size_t i = 0; i < users.size(); ++i) {
    std::vector<std::string> inputs{first.input(0)};
    const auto add = [&](const char* what, std::vector<std::int64_t> numbers, const std::vector<std::int64_t>& more) {
      numbers.insert(numbers.end(), more.begin(), more.end());
      inputs.push_back(edit.fresh_name(users[i]->output(0) + what));
      edit.add_constant(inputs.back(), Array::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers));
    };
    add("_starts", inner->starts, all[i].starts);
    add("_ends", inner->ends, all[i].ends);
    add("_axes", inner->axes, all[i].axes);
    add("_steps", inner->steps, all[i].steps);
    rewrite(edit, *users[i], "Slice", inputs);
  }
  edit.remove(first);
  return true;
}

/// x w + b, if x and w are matrices and b is a constant row.
bool join_sum(const Context& context, const proto::NodeProto& node) {
  const auto& values = context.imported.values;
  if (node.op_type() != "Add" || !is_default_domain(node.domain()) || node.input_size() != 2) return false;
  for (const int place : {0, 1}) {
    const std::string &product = node.input(place), &added = node.input(1 - place);
    const proto::NodeProto* const first = context.edit.producer(product);
    if (first == nullptr || first->op_type() != "MatMul" || !is_default_domain(first->domain()) ||
        first->input_size() != 2 || first->input(0).empty() || first->input(1).empty() ||
        context.edit.uses(product) != 1 || context.edit.constant(added) == nullptr)
      continue;
    const Type &left = values.at(first->input(0)).type(), &right = values.at(first->input(1)).type();
    const Type &bias = values.at(added).type(), &result = values.at(node.output(0)).type();
    if (!left.shape || !right.shape || !bias.shape || left.shape->size() != 2 || right.shape->size() != 2) continue;
    if (!is_floating(left.element) || left.element == ElementType::bfloat16 || bias.shape->size() > 2) continue;
    if (!(values.at(product).type() == result)) continue;
    const proto::NodeProto& gone = *first;
    const std::vector<std::string> inputs{first->input(0), first->input(1), added};
    rewrite(context.edit, node, "Gemm", inputs);
    context.edit.remove(gone);
    return true;
  }
  return false;
}

}  // namespace

void sequences(const Context& context) {
  std::vector<const proto::NodeProto*> nodes;
  context.edit.for_each_node([&](const proto::NodeProto& node) { nodes.push_back(&node); });
  // From the end, so that a chain is joined as a whole.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const proto::NodeProto* const now = context.edit.current(**node);
    if (now != *node || opset_of(context.edit.model(), *now) < 7) continue;
    std::string name = name_of(*now);
    if (join_views(context, *now) || join_transposes(context, *now) || join_slices(context, *now) ||
        join_sum(context, *now) || drop_views_around(context, *now) || drop_views_around_transpose(context, *now))
      context.done.push_back(std::move(name));
  }
}

}  // namespace taso::onnx::cleanup
