#include "runtime/gpu/kernels/expression.h"

#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::gpu::kernels {
namespace {

thread_local std::optional<Arithmetic> current;

Arithmetic arithmetic() {
  check(current.has_value(), "an expression has a type");
  return *current;
}

}  // namespace

Expression::Type::Type(Arithmetic arithmetic) : before_(std::exchange(current, arithmetic)) {}
Expression::Type::~Type() { current = before_; }

std::string Expression::text() const {
  // infix() encloses what it writes.
  if (text_.size() > 2 && text_.front() == '(') return text_.substr(1, text_.size() - 2);
  return text_;
}

Expression Expression::infix(const Expression& a, char sign, const Expression& b, std::string_view for_integers) {
  if (is_integral(arithmetic())) return call(for_integers, a, b);
  return Expression(fmt::format("({} {} {})", a.text_, sign, b.text_));
}

Expression Expression::call(std::string_view function, const Expression& a, const Expression& b) {
  return Expression(fmt::format("{}({}, {})", function, a.text(), b.text()));
}

Expression Expression::real_function(std::string_view function, std::string operands) {
  check(!is_integral(arithmetic()), "integers have no such function");
  return Expression(fmt::format("{}{}({})", function, arithmetic() == Arithmetic::twice ? "" : "f", operands));
}

Expression operator+(const Expression& a, const Expression& b) { return Expression::infix(a, '+', b, "plus"); }
Expression operator-(const Expression& a, const Expression& b) {
  if (a.value_ == 0.0 && !is_integral(arithmetic())) return Expression("(-" + b.text_ + ")");  // as in exp(-x)
  return Expression::infix(a, '-', b, "minus");
}
Expression operator*(const Expression& a, const Expression& b) {
  if (a.value_ == -1.0 && !is_integral(arithmetic())) return Expression("(-" + b.text_ + ")");
  return Expression::infix(a, '*', b, "times");
}

}  // namespace taso::gpu::kernels

namespace taso::ops {

using S = gpu::kernels::Expression;

S Math<S>::constant(double value) {
  S number(gpu::kernels::number(value, gpu::kernels::arithmetic()));
  number.value_ = value;
  return number;
}
S Math<S>::divide(const S& a, const S& b) {
  // Dividing by a number takes ten times as long as multiplying by its reciprocal.
  if (b.value_ && !a.value_ && !is_integral(gpu::kernels::arithmetic())) return a * constant(1 / *b.value_);
  if (gpu::kernels::arithmetic() == gpu::kernels::Arithmetic::quick) return S::call("quick_divide", a, b);
  return S::infix(a, '/', b, "divide");
}
S Math<S>::maximum(const S& a, const S& b) { return S::call("maximum", a, b); }
S Math<S>::minimum(const S& a, const S& b) { return S::call("minimum", a, b); }
S Math<S>::exp(const S& a) {
  if (gpu::kernels::arithmetic() == gpu::kernels::Arithmetic::quick) return S("quick_exp(" + a.text() + ")");
  return S::real_function("exp", a.text());
}
S Math<S>::erf(const S& a) { return S::real_function("erf", a.text()); }
S Math<S>::tanh(const S& a) { return S::real_function("tanh", a.text()); }
S Math<S>::sqrt(const S& a) { return S::real_function("sqrt", a.text()); }
S Math<S>::pow(const S& a, const S& b) {
  if (is_integral(gpu::kernels::arithmetic())) return S::call("power", a, b);
  return S::real_function("pow", a.text() + ", " + b.text());
}
S Math<S>::sqrt_two() { return constant(std::numbers::sqrt2); }

}  // namespace taso::ops
