#include "generator/partial/size.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace taso::generator {

Size::Size(std::int64_t number) : value_(number) {
  if (number != 0) terms_[{}] = {number, 1};
}

Size Size::term(std::string text, std::int64_t value) {
  Size size;
  if (text.find(" + ") != std::string::npos || text.find(" - ") != std::string::npos) text = "(" + text + ")";
  size.terms_[{{std::move(text), 1}}] = {1, 1};
  size.value_ = value;
  return size;
}

void Size::add(const Exponents& exponents, Coefficient coefficient) {
  Coefficient& sum = terms_[exponents];
  sum.numerator = sum.numerator * coefficient.denominator + coefficient.numerator * sum.denominator;
  sum.denominator *= coefficient.denominator;
  const std::int64_t common = std::gcd(sum.numerator, sum.denominator);
  if (sum.numerator == 0) {
    terms_.erase(exponents);
  } else {
    sum.numerator /= common;
    sum.denominator /= common;
  }
}

Size operator+(const Size& a, const Size& b) {
  Size sum = a;
  for (const auto& [exponents, coefficient] : b.terms_) sum.add(exponents, coefficient);
  sum.conditions_.insert(b.conditions_.begin(), b.conditions_.end());
  sum.value_ += b.value_;
  sum.is_whole_ = a.is_whole_ && b.is_whole_;
  return sum;
}

Size operator-(const Size& a, const Size& b) { return a + Size(-1) * b; }

Size operator*(const Size& a, const Size& b) {
  Size product;
  for (const auto& [left, of_left] : a.terms_)
    for (const auto& [right, of_right] : b.terms_) {
      Size::Exponents exponents = left;
      for (const auto& [name, exponent] : right)
        if ((exponents[name] += exponent) == 0) exponents.erase(name);
      product.add(exponents, {of_left.numerator * of_right.numerator, of_left.denominator * of_right.denominator});
    }
  product.conditions_ = a.conditions_;
  product.conditions_.insert(b.conditions_.begin(), b.conditions_.end());
  product.value_ = a.value_ * b.value_;
  product.is_whole_ = a.is_whole_ && b.is_whole_;
  return product;
}

Size operator/(const Size& a, const Size& b) {
  const bool is_exact = b.value_ != 0 && a.value_ % b.value_ == 0;
  Size quotient;
  if (a == b) {
    quotient = Size(1);
  } else if (b.terms_.size() == 1 && a.terms_.size() <= 1) {
    const auto& [exponents, coefficient] = *b.terms_.begin();
    Size inverse;
    Size::Exponents negative;
    for (const auto& [name, exponent] : exponents) negative[name] = -exponent;
    inverse.terms_[negative] = {coefficient.denominator, coefficient.numerator};
    inverse.conditions_ = b.conditions_;
    quotient = a * inverse;
  } else {
    quotient = Size::term(fmt::format("{} / {}", a.text(true), b.text(true)), 0);
    quotient.conditions_ = a.conditions_;
    quotient.conditions_.insert(b.conditions_.begin(), b.conditions_.end());
    quotient.conditions_.insert(fmt::format("divides({}, {})", b.text(), a.text()));
  }
  quotient.value_ = is_exact ? a.value_ / b.value_ : 0;
  quotient.is_whole_ = a.is_whole_ && b.is_whole_ && is_exact;
  return quotient;
}

Size::Monomial Size::text_of(const Exponents& exponents, Coefficient coefficient) {
  std::vector<std::string> above, below;
  const std::int64_t number = std::abs(coefficient.numerator);
  if (number != 1) above.push_back(std::to_string(number));
  if (coefficient.denominator != 1) below.push_back(std::to_string(coefficient.denominator));
  for (const auto& [name, exponent] : exponents)
    for (int i = 0; i < std::abs(exponent); ++i) (exponent > 0 ? above : below).push_back(name);
  return {fmt::format("{}", fmt::join(above, " * ")), fmt::format("{}", fmt::join(below, " * "))};
}

std::string Size::text(bool in_product) const {
  if (terms_.empty()) return "0";
  std::string positive, negative;  // sums begin with what is added; numbers come last
  std::vector<std::pair<Exponents, Coefficient>> terms(terms_.begin(), terms_.end());
  if (terms.front().first.empty()) std::rotate(terms.begin(), terms.begin() + 1, terms.end());
  for (const auto& [exponents, coefficient] : terms) {
    Monomial monomial = text_of(exponents, coefficient);
    std::string text = monomial.numerator.empty() ? "1" : monomial.numerator;
    if (!monomial.denominator.empty())
      text += monomial.denominator.find(' ') == std::string::npos ? " / " + monomial.denominator
                                                                  : " / (" + monomial.denominator + ")";
    if (coefficient.numerator > 0)
      positive += positive.empty() ? text : " + " + text;
    else
      negative += " - " + text;
  }
  const std::string all = positive.empty() ? "0" + negative : positive + negative;
  const bool is_compound = terms_.size() > 1 || positive.empty() || all.find(" / ") != std::string::npos;
  return in_product && is_compound ? "(" + all + ")" : all;
}

void Size::add_conditions(std::set<std::string>& conditions) const {
  conditions.insert(conditions_.begin(), conditions_.end());
  for (const auto& [exponents, coefficient] : terms_) {
    const Monomial monomial = text_of(exponents, coefficient);
    if (!monomial.denominator.empty())
      conditions.insert(
          fmt::format("divides({}, {})", monomial.denominator, monomial.numerator.empty() ? "1" : monomial.numerator));
  }
}

}  // namespace taso::generator
