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

/// Whether numbers give a number. What is added may be infinite, in filled rows too; what is divided by must not be 0.
bool keeps_numbers(const Step& step) {
  const std::string& type = step.node.op_type();
  for (int i = type == "Where" ? 1 : 0; i < step.node.input_size(); ++i)
    if (step.has(i) && beyond_of(step.operand(i)) < Beyond::number) return false;
  if (type == "Div") return !step.operand(1).rows;
  return type == "Add" || type == "Sub" || type == "Mul" || type == "Neg" || type == "Where" || type == "Cast";
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
  if (keeps_numbers(step)) rows.beyond = std::max(rows.beyond, Beyond::number);
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
