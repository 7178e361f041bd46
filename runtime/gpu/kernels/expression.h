// A number type whose values are CUDA source text: an operator's own definition, evaluated with it, writes the kernel's
// expression. So an element-wise operator has a kernel, in any fusion, as soon as it has a meaning.
#pragma once

#include <optional>
#include <string>

#include "ops/core/scalar.h"
#include "runtime/gpu/kernels/code.h"

namespace taso::gpu::kernels {

class Expression {
 public:
  /// While it lives, expressions on this thread are of this arithmetic.
  class Type {
   public:
    explicit Type(Arithmetic arithmetic);
    ~Type();
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;

   private:
    std::optional<Arithmetic> before_;
  };

  /// A name or another text that needs no parentheses.
  explicit Expression(std::string text) : text_(std::move(text)) {}
  /// Parentheses around the whole are left out.
  std::string text() const;

  friend Expression operator+(const Expression& a, const Expression& b);
  friend Expression operator-(const Expression& a, const Expression& b);
  friend Expression operator*(const Expression& a, const Expression& b);

 private:
  friend struct ops::Math<Expression>;
  static Expression infix(const Expression& a, char sign, const Expression& b, std::string_view for_integers);
  /// A function that CUDA has for integers too.
  static Expression call(std::string_view function, const Expression& a, const Expression& b);
  /// One of the C library's, for floating-point numbers.
  static Expression real_function(std::string_view function, std::string operands);

  std::string text_;
  std::optional<double> value_;  // of a number
};

}  // namespace taso::gpu::kernels

namespace taso::ops {

template <>
struct Math<gpu::kernels::Expression> {
  using S = gpu::kernels::Expression;
  static S constant(double value);
  static S divide(const S& a, const S& b);
  static S maximum(const S& a, const S& b);
  static S minimum(const S& a, const S& b);
  static S exp(const S& a);
  static S erf(const S& a);
  static S tanh(const S& a);
  static S sqrt(const S& a);
  static S pow(const S& a, const S& b);
  static S sqrt_two();
};

}  // namespace taso::ops
