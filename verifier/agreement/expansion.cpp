#include "verifier/agreement/expansion.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/graph/evaluate.h"

namespace taso::verifier {

Expansion Expansion::of_element(Element element) {
  Expansion result;
  result.terms_.push_back({{element}, Field(1)});
  return result;
}

Expansion Expansion::of_number(Field number) {
  Expansion result;
  if (number != Field()) result.terms_.push_back({{}, number});
  return result;
}

Expansion Expansion::not_polynomial() {
  Expansion result;
  result.is_polynomial_ = false;
  return result;
}

Expansion Expansion::scaled(Field factor) const {
  Expansion result = *this;
  for (Term& term : result.terms_) term.coefficient = term.coefficient * factor;
  return result;
}

Expansion operator+(const Expansion& a, const Expansion& b) {
  if (!a.is_polynomial_ || !b.is_polynomial_) return Expansion::not_polynomial();
  Expansion result;
  result.terms_.reserve(a.terms_.size() + b.terms_.size());
  auto left = a.terms_.begin(), right = b.terms_.begin();
  while (left != a.terms_.end() && right != b.terms_.end()) {
    if (left->elements < right->elements) {
      result.terms_.push_back(*left++);
    } else if (right->elements < left->elements) {
      result.terms_.push_back(*right++);
    } else {
      const Field sum = left->coefficient + right->coefficient;
      if (sum != Field()) result.terms_.push_back({left->elements, sum});
      ++left, ++right;
    }
  }
  result.terms_.insert(result.terms_.end(), left, a.terms_.end());
  result.terms_.insert(result.terms_.end(), right, b.terms_.end());
  return result;
}

Expansion operator-(const Expansion& a, const Expansion& b) { return a + b.scaled(Field(-1)); }

Expansion operator*(const Expansion& a, const Expansion& b) {
  if (!a.is_polynomial_ || !b.is_polynomial_) return Expansion::not_polynomial();
  if (a.is_number()) return a.terms_.empty() ? Expansion() : b.scaled(a.number());
  if (b.is_number()) return b * a;
  Expansion result;
  for (const Expansion::Term& left : a.terms_) {
    Expansion products;
    for (const Expansion::Term& right : b.terms_) {
      Expansion::Term product{{}, left.coefficient * right.coefficient};
      std::merge(left.elements.begin(), left.elements.end(), right.elements.begin(), right.elements.end(),
                 std::back_inserter(product.elements));
      products.terms_.push_back(std::move(product));
    }
    std::sort(products.terms_.begin(), products.terms_.end(),
              [](const auto& one, const auto& other) { return one.elements < other.elements; });
    result = result + products;
  }
  return result;
}

Expansion ExpansionMath::constant(double value) {
  return std::isfinite(value) ? Expansion::of_number(Math<Field>::constant(value)) : Expansion::not_polynomial();
}

Expansion ExpansionMath::divide(const Expansion& a, const Expansion& b) {
  if (!b.is_number() || b.number() == Field()) return Expansion::not_polynomial();
  return a * Expansion::of_number(b.number().inverse());
}

}  // namespace taso::verifier

namespace taso::ops {

template std::vector<Tensor<verifier::Expansion>> evaluate(const Operator&, Tensors<verifier::Expansion>);

}  // namespace taso::ops
