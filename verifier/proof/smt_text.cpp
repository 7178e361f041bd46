#include "verifier/proof/smt_text.h"

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::verifier {
namespace {

std::string number(std::int64_t value) {
  if (value >= 0) return std::to_string(value);
  return fmt::format("(- {})", 0 - static_cast<std::uint64_t>(value));
}

}  // namespace

void SmtText::declare(const rules::Unknown& unknown) {
  const std::string name = fmt::format("|{}|", unknown.name);
  names_.emplace(unknown.name, name);
  declarations_ += fmt::format("(declare-const {} Int)\n", name);
  assertions_ += fmt::format("(assert (>= {} {}))\n", name, unknown.least);
}

std::string SmtText::term(const Dim& dim) {
  if (dim.is_static()) return number(dim.value());
  std::string sum;
  const auto terms = terms_of(dim);
  for (const DimTerm& t : terms) {
    std::string product;
    std::size_t factors = 0;
    if (t.coefficient != 1 || t.factors.empty()) {
      product += " " + number(t.coefficient);
      ++factors;
    }
    for (const DimFactor& factor : t.factors) {
      ++factors;
      if (!factor.name.empty()) {
        const auto name = names_.find(factor.name);
        check(name != names_.end(), "a question uses only declared unknowns");
        product += " " + name->second;
        continue;
      }
      // A rounded quotient is the one integer between these bounds.
      const std::string key = factor.numerator.text() + " / " + factor.denominator.text();
      auto quotient = quotients_.find(key);
      if (quotient == quotients_.end()) {
        const std::string above = term(factor.numerator), below = term(factor.denominator);
        const std::string name = fmt::format("quotient{}", quotients_.size());
        quotient = quotients_.emplace(key, name).first;
        declarations_ += fmt::format("(declare-const {} Int)  ; floor({})\n", name, key);
        assertions_ += fmt::format("(assert (=> (>= {0} 1) (and (<= (* {0} {1}) {2}) (< {2} (+ (* {0} {1}) {0})))))\n",
                                   below, name, above);
      }
      product += " " + quotient->second;
    }
    sum += factors == 1 ? product : fmt::format(" (*{})", product);
  }
  return terms.size() == 1 ? sum.substr(1) : fmt::format("(+{})", sum);
}

std::string SmtText::formula(const rules::Requirement& requirement, bool is_assumed) {
  const std::string left = term(requirement.left), right = term(requirement.right);
  switch (requirement.kind) {
    case rules::Requirement::Kind::equal: return fmt::format("(= {} {})", left, right);
    case rules::Requirement::Kind::not_equal: return fmt::format("(not (= {} {}))", left, right);
    case rules::Requirement::Kind::at_least: return fmt::format("(>= {} {})", left, right);
    case rules::Requirement::Kind::divides: {
      // right = left * quotient, where the quotient is rounded down (or any number, if it is assumed to exist).
      const Dim quotient = floor_div(requirement.right, requirement.left);
      if (is_assumed) return fmt::format("(and (>= {} 1) (= {} {}))", left, right, term(requirement.left * quotient));
      return fmt::format("(and (>= {} 1) (= {} {}))", left, right, term(requirement.left * quotient));
    }
  }
  return "true";
}

void SmtText::assume(const rules::Requirement& requirement) {
  const std::string text = formula(requirement, true);
  assertions_ += fmt::format("(assert {})\n", text);
}

void SmtText::deny(const std::vector<rules::Requirement>& requirements) {
  std::string alternatives;
  for (const rules::Requirement& requirement : requirements)
    alternatives += fmt::format("\n  (not {})", formula(requirement, false));
  assertions_ += fmt::format("(assert (or false{}))\n", alternatives);
}

}  // namespace taso::verifier
