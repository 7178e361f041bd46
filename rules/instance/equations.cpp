#include "rules/instance/equations.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::rules {
namespace {

using Kind = Requirement::Kind;

bool mentions(const Dim& dim, const std::string& name) {
  const auto names = dim.symbols();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_statically_true(const Requirement& r) {
  const std::int64_t left = r.left.value(), right = r.right.value();
  switch (r.kind) {
    case Kind::equal: return left == right;
    case Kind::not_equal: return left != right;
    case Kind::at_least: return left >= right;
    case Kind::divides: return left > 0 && right % left == 0;
  }
  return false;
}

}  // namespace

bool is_made_up(std::string_view unknown) { return unknown.find("..") != std::string_view::npos; }

Dim Equations::add_unknown(const std::string& name, std::int64_t least) {
  if (places_.emplace(name, unknowns_.size()).second) unknowns_.push_back({name, least});
  return reduce(Dim::symbol(name));
}

Dim Equations::reduce(Dim dim) const {
  if (determined_.empty()) return dim;
  return substitute(dim, [this](std::string_view name) -> std::optional<Dim> {
    const auto found = determined_.find(name);
    return found == determined_.end() ? std::nullopt : std::optional(found->second);
  });
}

Requirement Equations::reduce(const Requirement& requirement) const {
  return {requirement.kind, reduce(requirement.left), reduce(requirement.right)};
}

std::optional<std::int64_t> Equations::least_of(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? std::nullopt : std::optional(unknowns_[place->second].least);
}

std::optional<std::int64_t> Equations::least_of(const Dim& dim) const {
  std::int64_t sum = 0;
  for (const DimTerm& term : terms_of(dim)) {
    if (term.coefficient < 0 && !term.factors.empty()) return std::nullopt;
    std::int64_t product = term.coefficient;
    for (const DimFactor& factor : term.factors) {
      std::optional<std::int64_t> least;
      if (!factor.name.empty()) {
        least = least_of(factor.name);
      } else {
        // A quotient of non-negative numbers is not negative.
        const auto numerator = least_of(factor.numerator), denominator = least_of(factor.denominator);
        if (numerator && denominator && *numerator >= 0 && *denominator >= 1)
          least = factor.denominator.is_static() ? *numerator / factor.denominator.value() : 0;
      }
      if (!least || *least < 0 || __builtin_mul_overflow(product, *least, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

bool Equations::is_obvious(const Requirement& requirement) const {
  if (requirement.left.is_static() && requirement.right.is_static()) return is_statically_true(requirement);
  switch (requirement.kind) {
    case Kind::equal: return requirement.left == requirement.right;
    case Kind::not_equal: {
      const auto above = least_of(requirement.left - requirement.right),
                 below = least_of(requirement.right - requirement.left);
      return (above && *above > 0) || (below && *below > 0);
    }
    case Kind::at_least: {
      const auto least = least_of(requirement.left - requirement.right);
      return least && *least >= 0;
    }
    case Kind::divides:
      return exact_div(requirement.right, requirement.left).has_value() && least_of(requirement.left).value_or(0) >= 1;
  }
  return false;
}

bool Equations::keep(const Requirement& requirement) {
  if (std::find(kept_.begin(), kept_.end(), requirement) == kept_.end()) kept_.push_back(requirement);
  return true;
}

bool Equations::replace(const std::string& name, Dim by) {
  const std::int64_t least = unknowns_[places_.at(name)].least;
  const auto only = [&](std::string_view other) { return other == name ? std::optional(by) : std::nullopt; };
  for (auto& [other, dim] : determined_) dim = substitute(dim, only);
  determined_.emplace(name, by);
  std::vector<Requirement> again = std::move(kept_);
  kept_.clear();
  if (!assume({Kind::at_least, by, least})) return false;
  // What could not be solved before may be solvable now.
  return std::all_of(again.begin(), again.end(), [&](const Requirement& r) { return assume(r); });
}

namespace {

/// N = D * floor(N / D) means that D divides N.
std::optional<Requirement> as_divisibility(const Dim& difference) {
  for (const int sign : {1, -1})
    for (const DimTerm& term : terms_of(difference))
      for (const DimFactor& factor : term.factors) {
        if (!factor.name.empty()) continue;
        const Dim product = factor.denominator * floor_div(factor.numerator, factor.denominator);
        if (Dim(sign) * difference == factor.numerator - product)
          return Requirement{Kind::divides, factor.denominator, factor.numerator};
      }
  return std::nullopt;
}

}  // namespace

bool Equations::solve_equal(Dim left, Dim right) {
  Dim difference = left - right;
  if (solve_)
    if (const auto divides = as_divisibility(difference)) return assume(*divides);
  auto terms = terms_of(difference);
  if (solve_ && terms.size() > 1) {
    // Unknowns that are at least 1 and divide every term cancel.
    for (const DimFactor& factor : std::vector<DimFactor>(terms[0].factors)) {
      if (factor.name.empty() || least_of(factor.name).value_or(0) < 1) continue;
      if (const auto quotient = exact_div(difference, Dim::symbol(factor.name))) difference = *quotient;
    }
    terms = terms_of(difference);
  }
  // A multiple of an unknown is 0 if the unknown is.
  if (solve_ && terms.size() == 1 && terms[0].factors.size() == 1 && !terms[0].factors[0].name.empty())
    terms = terms_of(difference = Dim::symbol(terms[0].factors[0].name));
  // An unknown that is a term by itself, and occurs nowhere else.
  std::string best;
  Dim replacement;
  std::size_t best_terms = 0;
  for (const DimTerm& term : terms) {
    if (term.factors.size() != 1 || term.factors[0].name.empty()) continue;
    if (term.coefficient != 1 && term.coefficient != -1) continue;
    const std::string& name = term.factors[0].name;
    if (!places_.contains(name)) continue;
    const Dim own = Dim(term.coefficient) * Dim::symbol(name);
    const Dim others = difference - own;
    if (mentions(others, name)) continue;
    const Dim by = term.coefficient > 0 ? Dim(-1) * others : others;
    if (!solve_ && !by.is_static()) continue;
    // The simplest replacement wins; among equally simple ones, the later unknown is replaced.
    const auto by_terms = terms_of(by);
    std::size_t size = by_terms.size() * 2;
    for (const DimTerm& t : by_terms) size += t.coefficient < 0 ? 1 : 0;
    if (best.empty() || size < best_terms || (size == best_terms && places_.at(name) > places_.at(best))) {
      best = name;
      replacement = by;
      best_terms = size;
    }
  }
  if (best.empty()) return keep({Kind::equal, left, right});
  return replace(best, replacement);
}

bool Equations::solve_divides(Dim divisor, Dim dividend) {
  const auto terms = terms_of(dividend);
  // u + c, where c and the divisor are numbers (or c is 0): u becomes divisor * q - c.
  const bool has_constant = terms.size() == 2 && terms[1].factors.empty();
  if (!solve_ || (terms.size() != 1 && !has_constant) || (has_constant && !divisor.is_static()) ||
      terms[0].coefficient != 1 || terms[0].factors.size() != 1 || terms[0].factors[0].name.empty() ||
      mentions(divisor, terms[0].factors[0].name) || !places_.contains(terms[0].factors[0].name))
    return keep({Kind::divides, divisor, dividend});
  const std::string name = terms[0].factors[0].name;
  const std::int64_t constant = has_constant ? terms[1].coefficient : 0;
  const std::int64_t least = unknowns_[places_.at(name)].least;
  std::int64_t quotient_least = least >= 1 && constant == 0 ? 1 : 0;
  if (divisor.is_static()) quotient_least = ceil_div(Dim(least) + constant, divisor).value();
  const std::string made_up = fmt::format("q..{}", made_up_.size() + 1);
  made_up_.emplace(made_up, floor_div(dividend, divisor));
  const Dim quotient = add_unknown(made_up, quotient_least);
  return replace(name, divisor * quotient - constant);
}

bool Equations::assume(Requirement requirement) {
  const Requirement reduced = reduce(requirement);
  if (reduced.left.is_static() && reduced.right.is_static()) {
    if (!is_statically_true(reduced)) return false;
    if (!solve_ && requirement != reduced) keep(requirement);
    return true;
  }
  if (!solve_) {
    // The requirement stays; a number is also substituted, because broadcasting depends on it.
    if (requirement.kind == Kind::equal) {
      auto terms = terms_of(reduced.left - reduced.right);
      if (!terms.empty() && terms[0].coefficient < 0) terms = terms_of(reduced.right - reduced.left);  // 1 = x as x = 1
      const bool one_unknown = terms.size() == 1 || (terms.size() == 2 && terms[1].factors.empty());
      if (one_unknown && terms[0].factors.size() == 1 && !terms[0].factors[0].name.empty() &&
          terms[0].coefficient == 1 && places_.contains(terms[0].factors[0].name)) {
        determined_.emplace(terms[0].factors[0].name, terms.size() == 2 ? Dim(-1) * terms[1].coefficient : Dim(0));
      }
    }
    return keep(requirement);
  }
  if (is_obvious(reduced)) return true;
  switch (reduced.kind) {
    case Kind::equal: {
      const auto above = least_of(reduced.left - reduced.right), below = least_of(reduced.right - reduced.left);
      if ((above && *above > 0) || (below && *below > 0)) return false;
      return solve_equal(reduced.left, reduced.right);
    }
    case Kind::not_equal:
      if (reduced.left == reduced.right) return false;
      return keep(reduced);
    case Kind::at_least: {
      const Dim difference = reduced.left - reduced.right;
      const auto greatest = least_of(Dim(-1) * difference);
      if (greatest && *greatest > 0) return false;
      const auto terms = terms_of(difference);
      const bool simple = terms.size() == 1 || (terms.size() == 2 && terms[1].factors.empty());
      if (simple && terms[0].coefficient == 1 && terms[0].factors.size() == 1 && !terms[0].factors[0].name.empty()) {
        const auto place = places_.find(terms[0].factors[0].name);
        if (place != places_.end()) {
          auto& least = unknowns_[place->second].least;
          least = std::max(least, terms.size() == 2 ? (Dim(-1) * terms[1].coefficient).value() : 0);
          return true;
        }
      }
      return keep(reduced);
    }
    case Kind::divides: return solve_divides(reduced.left, reduced.right);
  }
  return true;
}

std::vector<Unknown> Equations::free_unknowns() const {
  std::vector<Unknown> result;
  for (const Unknown& unknown : unknowns_)
    if (!solve_ || !determined_.contains(unknown.name)) result.push_back(unknown);
  return result;
}

std::vector<Requirement> Equations::rest() const {
  std::vector<Requirement> result;
  for (const Requirement& requirement : kept_) {
    const Requirement reduced = solve_ ? reduce(requirement) : requirement;
    if ((solve_ && is_obvious(reduced)) || std::find(result.begin(), result.end(), reduced) != result.end()) continue;
    result.push_back(reduced);
  }
  return result;
}

}  // namespace taso::rules
