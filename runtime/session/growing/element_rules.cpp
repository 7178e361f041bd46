// Operators of single elements: the filled rows of a result depend on the same rows of the operands.
#include <fmt/format.h>

#include "runtime/session/growing/rules.h"

namespace taso::runtime::growing {
namespace {

/// The extent of two dimensions together.
Dim joined(const Step& step, const Dim& one, const Dim& other) {
  if (one == other || other == Dim(1)) return one;
  if (one == Dim(1)) return other;
  const std::string why = fmt::format("has operands of {} and {} elements along an axis", one.text(), other.text());
  const bool is_first = one.is_static();
  if (is_first == other.is_static()) step.refuse(why);
  try {
    step.refuse(why);
  } catch (const InputError& error) {
    const std::optional<Affine> rows = step.all.affine(is_first ? other : one);
    throw Mismatch(error.what(), (is_first ? one : other).value(), rows ? rows->offset : -1);
  }
}

}  // namespace

Shape joined(const Step& step, const Shape& one, const Shape& other) {
  if (one.size() < other.size()) return joined(step, other, one);
  Shape result = one;
  for (std::size_t i = 0; i < other.size(); ++i) {
    Dim& dim = result[one.size() - other.size() + i];
    dim = joined(step, dim, other[i]);
  }
  return result;
}

namespace {

bool is_zero(const Tracked& value) {
  if (value.rows) return value.rows->beyond == Beyond::zero;
  const std::optional<Array>& constant = value.fact.constant;
  return constant && constant->size() == 1 && constant->doubles()[0] == 0;
}

/// What the rows behind the filled ones are at least, if operands say it. A value without rows, such as a mask that is
/// added, may be infinite, in filled rows too; a factor of this kind is none.
Beyond beyond_of_result(const Step& step) {
  const std::string& type = step.node.op_type();
  Beyond least = Beyond::finite;
  bool has_mask = false;
  for (int i = type == "Where" ? 1 : 0; i < step.node.input_size(); ++i) {
    if (!step.has(i)) continue;
    has_mask = has_mask || !step.operand(i).rows;
    if (step.operand(i).rows) least = std::min(least, beyond_of(step.operand(i)));
  }
  if (least < Beyond::number) return Beyond::anything;
  if (type == "Neg") return least;
  if (type == "Cast") return Beyond::number;
  // Infinity times 0 is no number, and what is divided by may be 0.
  if (type == "Mul" || (type == "Div" && !step.operand(1).rows))
    return least < Beyond::finite ? Beyond::anything : least;
  if (type == "Add" || type == "Where") return has_mask ? Beyond::number : least;
  if (type == "Sub") return least < Beyond::finite ? Beyond::anything : has_mask ? Beyond::number : least;
  return Beyond::anything;
}

/// The rows behind the filled ones.
Rows rows_of(const Step& step, Rows rows) {
  const std::string& type = step.node.op_type();
  if (type == "Identity") return *step.operand(0).rows;
  if (type == "Cast") {
    // Another type may have no number for one that is finite; float32 has one for each of a shorter type.
    const Tracked& from = step.operand(0);
    const bool is_wider = step.facts[0].type.element == ElementType::float32 && size_of(from.fact.type.element) < 4;
    rows.beyond = from.rows->beyond == Beyond::zero || is_wider ? from.rows->beyond : Beyond::anything;
  }
  rows.beyond = std::max(rows.beyond, beyond_of_result(step));
  if (type == "Where" && is_zero(step.operand(1)) && is_zero(step.operand(2))) rows.beyond = Beyond::zero;
  return rows;
}

void element(Step& step) {
  Shape shape;
  const int operands = step.node.op_type() == "CastLike" ? 1 : step.node.input_size();
  for (int i = 0; i < operands; ++i)
    if (step.has(i)) shape = joined(step, shape, step.shape(i));
  step.facts[0].type.shape = shape;
  std::optional<Rows> rows = step.rows_in(shape);
  if (rows) rows = rows_of(step, *rows);
  step.add_copy();
  step.results(rows);
}

}  // namespace

Rules element_rules() {
  Rules rules;
  for (const std::string_view name : {"Abs",         "Acos",       "Acosh",       "Add",        "And",
                                      "Asin",        "Asinh",      "Atan",        "Atanh",      "BitShift",
                                      "BitwiseAnd",  "BitwiseNot", "BitwiseOr",   "BitwiseXor", "Cast",
                                      "CastLike",    "Ceil",       "Celu",        "Clip",       "Cos",
                                      "Cosh",        "Div",        "Elu",         "Equal",      "Erf",
                                      "Exp",         "Floor",      "Gelu",        "Greater",    "GreaterOrEqual",
                                      "HardSigmoid", "HardSwish",  "Identity",    "IsInf",      "IsNaN",
                                      "LeakyRelu",   "Less",       "LessOrEqual", "Log",        "Max",
                                      "Mean",        "Min",        "Mish",        "Mod",        "Mul",
                                      "Neg",         "Not",        "Or",          "Pow",        "Reciprocal",
                                      "Relu",        "Round",      "Selu",        "Sigmoid",    "Sign",
                                      "Sin",         "Sinh",       "Softplus",    "Softsign",   "Sqrt",
                                      "Sub",         "Sum",        "Tan",         "Tanh",       "ThresholdedRelu",
                                      "Where",       "Xor"})
    rules.emplace(name, element);
  return rules;
}

}  // namespace taso::runtime::growing
