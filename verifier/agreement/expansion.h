// An element of a result, multiplied out: a sum of products of the inputs' elements. It shows which elements an output
// reads and how many terms it adds up, at known sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/field.h"

namespace taso::verifier {

/// A polynomial in the elements of the inputs, or no polynomial: after a maximum, or a division by an element.
class Expansion {
 public:
  using Element = std::uint64_t;
  static constexpr Element element(std::uint64_t input, std::uint64_t place) { return input << 40 | place; }
  static constexpr std::size_t input_of(Element element) { return static_cast<std::size_t>(element >> 40); }
  static constexpr std::int64_t place_of(Element element) {
    return static_cast<std::int64_t>(element & ((Element{1} << 40) - 1));
  }
  /// Coefficients are small fractions, which the prime field tells apart.
  struct Term {
    std::vector<Element> elements;  ///< sorted, with repetitions
    Field coefficient;
  };

  static Expansion of_element(Element element);
  static Expansion of_number(Field number);
  static Expansion not_polynomial();

  bool is_polynomial() const { return is_polynomial_; }
  const std::vector<Term>& terms() const { return terms_; }  ///< sorted by their elements, without zeros
  bool is_number() const {
    return is_polynomial_ && (terms_.empty() || (terms_.size() == 1 && is_constant(terms_[0])));
  }
  Field number() const { return terms_.empty() ? Field() : terms_[0].coefficient; }

  friend Expansion operator+(const Expansion& a, const Expansion& b);
  friend Expansion operator-(const Expansion& a, const Expansion& b);
  friend Expansion operator*(const Expansion& a, const Expansion& b);

 private:
  static bool is_constant(const Term& term) { return term.elements.empty(); }
  Expansion scaled(Field factor) const;
  bool is_polynomial_ = true;
  std::vector<Term> terms_;
};

struct ExpansionMath {
  static Expansion constant(double value);
  static Expansion divide(const Expansion& a, const Expansion& b);
  static Expansion maximum(const Expansion&, const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion minimum(const Expansion&, const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion lowest() { return Expansion::not_polynomial(); }
  static Expansion exp(const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion erf(const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion tanh(const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion sqrt(const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion pow(const Expansion&, const Expansion&) { return Expansion::not_polynomial(); }
  static Expansion sqrt_two() { return Expansion::not_polynomial(); }
};

}  // namespace taso::verifier

namespace taso::ops {

template <>
struct Math<verifier::Expansion> : verifier::ExpansionMath {};

}  // namespace taso::ops
