#include "runtime/session/flat_products.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"

namespace taso::runtime {
namespace {

/// How ONNX Runtime names what it made flat. Exporters write flat products, too, as of GPT-2: those stay, because their
/// prices were recorded as they come.
constexpr std::string_view name_of_flat_rows = "gemm_input_reshape_arg";

struct FlatProduct {
  const proto::NodeProto &before, &gemm, &after;
};

class Finder {
 public:
  explicit Finder(const onnx::GraphEdit& edit) : edit_(edit), imported_(edit.imported()) {}

  std::optional<FlatProduct> at(const proto::NodeProto& gemm) const {
    if (!onnx::is_default_domain(gemm.domain())) return std::nullopt;
    const Attributes attributes = onnx::read_attributes(gemm, edit_.folder());
    if (attributes.integer("transA", 0) != 0 || attributes.integer("transB", 0) != 0) return std::nullopt;
    if (attributes.number("alpha", 1) != 1 || attributes.number("beta", 1) != 1) return std::nullopt;
    const proto::NodeProto* const before = edit_.producer(gemm.input(0));
    const std::vector<const proto::NodeProto*> readers = edit_.consumers(gemm.output(0));
    if (!is_reshape(before) || edit_.uses(gemm.output(0)) != 1 || readers.size() != 1 || !is_reshape(readers[0]) ||
        readers[0]->input(0) != gemm.output(0))
      return std::nullopt;
    const Shape *const x = shape_of(before->input(0)), *const flat = shape_of(gemm.input(0)),
                       *const w = shape_of(gemm.input(1)), *const y = shape_of(readers[0]->output(0));
    if (x == nullptr || flat == nullptr || w == nullptr || y == nullptr || x->size() < 3) return std::nullopt;
    // The rows are all axes but the last, before and after.
    if (flat->size() != 2 || w->size() != 2 || x->back() != flat->back() || y->size() != x->size() ||
        y->back() != w->back() || !std::equal(x->begin(), x->end() - 1, y->begin()))
      return std::nullopt;
    if (has_bias(gemm) && !is_of_columns(gemm.input(2))) return std::nullopt;
    return FlatProduct{*before, gemm, *readers[0]};
  }

  static bool has_bias(const proto::NodeProto& gemm) { return gemm.input_size() > 2 && !gemm.input(2).empty(); }

 private:
  static bool is_reshape(const proto::NodeProto* node) {
    return node != nullptr && node->op_type() == "Reshape" && onnx::is_default_domain(node->domain());
  }
  const Shape* shape_of(const std::string& name) const {
    const auto found = imported_->values.find(name);
    return found != imported_->values.end() && found->second.type().shape ? &*found->second.type().shape : nullptr;
  }
  /// Whether a bias is the same for all rows.
  bool is_of_columns(const std::string& name) const {
    const Shape* const shape = shape_of(name);
    return shape != nullptr && shape->size() <= 2 && (shape->size() < 2 || shape->front() == Dim(1));
  }

  const onnx::GraphEdit& edit_;
  std::shared_ptr<const onnx::ImportedModel> imported_;
};

void unflatten(onnx::GraphEdit& edit, const FlatProduct& one) {
  const bool has_bias = Finder::has_bias(one.gemm);
  const std::string x = one.before.input(0), flat = one.gemm.input(0), w = one.gemm.input(1),
                    product = edit.fresh_name(one.gemm.output(0)), bias = has_bias ? one.gemm.input(2) : "";
  const auto become = [](proto::NodeProto& node, const char* type, const std::string& a, const std::string& b) {
    node.set_op_type(type);
    node.clear_attribute();
    node.clear_input();
    node.add_input(a);
    node.add_input(b);
  };
  edit.modify(one.after, [&](proto::NodeProto& node) {
    has_bias ? become(node, "Add", product, bias) : become(node, "MatMul", x, w);
  });
  if (has_bias)
    edit.modify(one.gemm, [&](proto::NodeProto& node) {
      become(node, "MatMul", x, w);
      node.set_output(0, product);  // the model may declare the type of the other name
    });
  else
    edit.remove(one.gemm);
  if (edit.uses(flat) == 0) edit.remove(*edit.producer(flat));
}

}  // namespace

std::size_t unflatten_products(onnx::GraphEdit& edit) {
  std::vector<const proto::NodeProto*> gemms;
  edit.for_each_node([&](const proto::NodeProto& node) {
    if (node.op_type() == "Gemm" && node.input_size() > 1 && node.input(0).starts_with(name_of_flat_rows))
      gemms.push_back(&node);
  });
  if (gemms.empty()) return 0;  // without an import
  std::vector<FlatProduct> all;
  const Finder finder(edit);
  for (const proto::NodeProto* const gemm : gemms)
    if (const auto found = finder.at(*gemm)) all.push_back(*found);
  for (const FlatProduct& one : all) {
    const proto::NodeProto *const before = edit.current(one.before), *const gemm = edit.current(one.gemm),
                                  *const after = edit.current(one.after);
    check(before != nullptr && gemm != nullptr && after != nullptr, "no other product has changed these nodes");
    unflatten(edit, {*before, *gemm, *after});
  }
  return all.size();
}

}  // namespace taso::runtime
