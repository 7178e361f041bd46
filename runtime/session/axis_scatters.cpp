#include "runtime/session/axis_scatters.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"

namespace taso::runtime {
namespace {

using Permutation = std::vector<std::int64_t>;

bool has_type(const proto::NodeProto* node, std::string_view type) {
  return node != nullptr && node->op_type() == type && onnx::is_default_domain(node->domain());
}

Permutation inverse(const Permutation& permutation) {
  Permutation back(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    back[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return back;
}

/// Whether it moves one axis to the front, and keeps the order of the others.
bool moves_one_axis(const Permutation& permutation) {
  return permutation.size() > 1 && permutation[0] > 0 && std::is_sorted(permutation.begin() + 1, permutation.end());
}

/// The nodes of one scatter along an axis.
struct AxisScatter {
  const proto::NodeProto &before, &scatter, &after;
  Permutation permutation;  ///< of the first
};

class Joiner {
 public:
  explicit Joiner(onnx::GraphEdit& edit) : edit_(edit), imported_(edit.imported()) {}

  /// One at a time: the last transpose of one may be the first of the next.
  std::size_t join_all() {
    std::size_t joined = 0;
    for (; const std::optional<AxisScatter> next = first(); ++joined) join(*next);
    return joined;
  }

 private:
  std::optional<AxisScatter> first() const {
    std::optional<AxisScatter> result;
    edit_.for_each_node([&](const proto::NodeProto& node) {
      if (result) return;
      if (const auto found = find(node)) result.emplace(*found);
    });
    return result;
  }

  Permutation permutation_of(const proto::NodeProto& transpose) const {
    return onnx::read_attributes(transpose, edit_.folder()).integers("perm");
  }

  const Shape* shape_of(const std::string& name) const {
    const auto found = imported_->values.find(name);
    return found != imported_->values.end() && found->second.type().shape ? &*found->second.type().shape : nullptr;
  }

  std::optional<AxisScatter> find(const proto::NodeProto& node) const {
    if (!has_type(&node, "ScatterND") || node.input_size() != 3 || edit_.uses(node.output(0)) != 1) return std::nullopt;
    const proto::NodeProto* const before = edit_.producer(node.input(0));
    const std::vector<const proto::NodeProto*> readers = edit_.consumers(node.output(0));
    if (!has_type(before, "Transpose") || readers.size() != 1 || !has_type(readers[0], "Transpose"))
      return std::nullopt;
    AxisScatter found{*before, node, *readers[0], permutation_of(*before)};
    if (!moves_one_axis(found.permutation) || permutation_of(found.after) != inverse(found.permutation))
      return std::nullopt;
    // One index for each row, and not a tuple.
    const Shape *const indices = shape_of(node.input(1)), *const updates = shape_of(node.input(2));
    if (indices == nullptr || indices->size() != 2 || (*indices)[1].known() != 1) return std::nullopt;
    if (updates == nullptr || updates->size() != found.permutation.size()) return std::nullopt;
    // ScatterElements also takes other sizes, which are errors of ScatterND.
    const Shape* const data = shape_of(node.input(0));
    if (data == nullptr || data->size() != updates->size() || (*indices)[0] != (*updates)[0]) return std::nullopt;
    if (!std::equal(updates->begin() + 1, updates->end(), data->begin() + 1)) return std::nullopt;
    return found;
  }

  /// Adds a node with one result, and returns the name of that.
  std::string add(const std::string& base, const char* type, const std::vector<std::string>& operands,
                  const Permutation* permutation = nullptr) {
    auto node = std::make_unique<proto::NodeProto>();
    const std::string name = edit_.fresh_name(base);
    node->set_name(name);
    node->set_op_type(type);
    for (const std::string& operand : operands) node->add_input(operand);
    node->add_output(name);
    if (permutation != nullptr) {
      auto& attribute = *node->add_attribute();
      attribute.set_name("perm");
      attribute.set_type(proto::AttributeProto::INTS);
      for (const std::int64_t axis : *permutation) attribute.add_ints(axis);
    }
    edit_.add(std::move(node));
    return name;
  }

  void join(const AxisScatter& one) {
    const auto rank = static_cast<std::int64_t>(one.permutation.size());
    const std::int64_t axis = one.permutation[0];
    const std::string base = one.after.output(0), data = one.before.input(0), indices = one.scatter.input(1);
    const Permutation back = inverse(one.permutation);
    const std::string updates = add(base + "_updates", "Transpose", {one.scatter.input(2)}, &back);
    std::vector<std::int64_t> along(one.permutation.size(), 1);
    along[static_cast<std::size_t>(axis)] = -1;
    const std::string target = edit_.fresh_name(base + "_along");
    edit_.add_constant(target, Array::of<std::int64_t>({rank}, along));
    const std::string row = add(base + "_row", "Reshape", {indices, target});
    const std::string places = add(base + "_places", "Expand", {row, add(base + "_shape", "Shape", {updates})});
    const proto::NodeProto scatter = one.scatter;
    edit_.modify(one.after, [&](proto::NodeProto& node) {
      node.set_op_type("ScatterElements");
      node.clear_input();
      for (const std::string& operand : {data, places, updates}) node.add_input(operand);
      *node.mutable_attribute() = scatter.attribute();  // the reduction
      auto& attribute = *node.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(proto::AttributeProto::INT);
      attribute.set_i(axis);
    });
    edit_.remove(one.scatter);
    if (edit_.uses(scatter.input(0)) == 0) edit_.remove(one.before);
  }

  onnx::GraphEdit& edit_;
  std::shared_ptr<const onnx::ImportedModel> imported_;
};

}  // namespace

std::size_t join_axis_scatters(onnx::GraphEdit& edit) { return Joiner(edit).join_all(); }

}  // namespace taso::runtime
