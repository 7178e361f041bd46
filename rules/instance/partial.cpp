#include "rules/instance/partial.h"

namespace taso::rules {
namespace {

bool is_positive(const SymbolicOperator& op, std::string_view name) {
  const auto& attribute = std::get<RealAttribute>(field(op, name));
  return attribute.variable.empty() && attribute.value > 0;
}

bool is_negative(const SymbolicOperator& op, std::string_view name) {
  const auto& attribute = std::get<RealAttribute>(field(op, name));
  return !attribute.variable.empty() || attribute.value < 0;
}

struct MayBeUndefined {
  const SymbolicOperator& op;

  template <class Op>
  bool operator()(const Op&) const {
    return false;
  }
  bool operator()(const op::Div&) const { return true; }
  bool operator()(const op::Sqrt&) const { return true; }
  bool operator()(const op::Pow&) const { return true; }
  // The variance is an operand, which may be negative.
  bool operator()(const op::BatchNorm&) const { return true; }
  // A mean of squares is not negative.
  bool operator()(const op::LayerNorm&) const { return !is_positive(op, "epsilon"); }
  bool operator()(const op::LocalResponseNorm&) const { return !is_positive(op, "bias") || is_negative(op, "alpha"); }
  bool operator()(const op::AveragePool&) const { return !std::get<bool>(field(op, "count_padding")); }
};

}  // namespace

bool may_be_undefined(const SymbolicOperator& op) { return std::visit(MayBeUndefined{op}, prototype(op.kind)); }

}  // namespace taso::rules
