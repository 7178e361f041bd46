// Sizes in programs that are written for all shapes and evaluated at one: an expression of the rule language, and its
// value at the sample.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace taso::generator {

/// A polynomial over terms such as `dim(x, 2)`, in which whole monomials may be divided: dim(x, 2) / 2 + 1.
class Size {
 public:
  Size(std::int64_t number = 0);  // NOLINT: numbers are sizes
  /// A term of the rule language that stands for a number; parenthesised if it is a sum.
  static Size term(std::string text, std::int64_t value);

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  /// The exact quotient: that it is exact becomes a condition.
  friend Size operator/(const Size& a, const Size& b);

  /// At the sample. A size is meaningless there if it is no whole number.
  std::int64_t value() const { return value_; }
  bool is_whole() const { return is_whole_; }
  /// Whether it is the same at all sizes.
  bool is_number() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }
  /// In the rule language; a sum has parentheses if `in_product`.
  std::string text(bool in_product = false) const;
  /// Adds the conditions under which all quotients are exact.
  void add_conditions(std::set<std::string>& conditions) const;

  bool operator==(const Size& other) const { return terms_ == other.terms_; }

 private:
  using Exponents = std::map<std::string, int>;
  struct Coefficient {
    std::int64_t numerator = 0, denominator = 1;
    bool operator==(const Coefficient&) const = default;
  };
  struct Monomial {
    std::string numerator, denominator;  ///< as text; empty: 1
  };
  static Monomial text_of(const Exponents& exponents, Coefficient coefficient);
  void add(const Exponents& exponents, Coefficient coefficient);

  std::map<Exponents, Coefficient> terms_;
  std::set<std::string> conditions_;  // of quotients of sums
  std::int64_t value_ = 0;
  bool is_whole_ = true;
};

}  // namespace taso::generator
