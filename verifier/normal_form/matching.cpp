#include "verifier/normal_form/matching.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "ops/core/error.h"
#include "verifier/normal_form/order.h"
#include "verifier/normal_form/unification.h"

namespace taso::verifier::normal {
namespace {

Constraints joined(const Constraints& a, const Constraints& b) {
  Constraints result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// A rough description of a factor; factors with different ones are treated as different.
void describe(const Factor& factor, std::set<std::size_t>& inputs) {
  if (factor.kind == Factor::Kind::access) inputs.insert(factor.head);
  const auto inside = [&](const Sum& sum) {
    for (const Term& term : sum.terms)
      for (const Factor& inner : term.factors) describe(inner, inputs);
  };
  for (const SumPtr& operand : factor.operands) inside(*operand);
  for (const Alternative& alternative : factor.alternatives) inside(*alternative.body);
}

using Signature = std::vector<std::size_t>;

Signature signature(const Factor& factor) {
  Signature result{static_cast<std::size_t>(factor.kind), factor.head};
  if (is_opaque(factor)) {
    std::set<std::size_t> inputs;
    describe(factor, inputs);
    result.insert(result.end(), inputs.begin(), inputs.end());
  }
  return result;
}

std::vector<Signature> signature(const Term& term) {
  std::vector<Signature> result;
  for (const Factor& factor : term.factors) result.push_back(signature(factor));
  std::sort(result.begin(), result.end());
  return result;
}

bool same_factor(const Factor& a, const Factor& b, const Constraints& context);

/// Binders and guards of a term or an alternative.
struct Scope {
  std::vector<Variable> bound;
  Constraints guards;
};

/// Guards and ranges with the binders replaced; the values may lie outside any range.
Constraints guards_at(const Scope& scope, const Substitution& values) {
  Constraints guards;
  for (const Variable variable : scope.bound) {
    const Polynomial* value = find(values, variable);
    check(value != nullptr, "every bound variable has a value");
    add_range(guards, *value, variable);
  }
  for (const Constraint& guard : scope.guards) guards.push_back(substitute(guard, values));
  std::sort(guards.begin(), guards.end());
  return guards;
}

/// The binders of a group's first member, as integers without a range.
Substitution unranged(const Scope& scope) {
  Substitution coordinates;
  for (const Variable variable : scope.bound)
    coordinates.emplace_back(variable, Polynomial::variable(facts().fresh(std::nullopt, facts().entry(variable).name)));
  return coordinates;
}

/// The values of a member's binders in the coordinates of its group.
Substitution in_coordinates(const Correspondence& correspondence, const Substitution& coordinates) {
  Substitution values;
  for (const auto& [variable, value] : correspondence.backward)
    values.emplace_back(variable, substitute(value, coordinates));
  return values;
}

/// Whether opaque factors can be paired that are equal where the member's guards hold.
bool same_opaque_factors(const Term& pattern, const Term& member, const Substitution& forward,
                         const Constraints& context) {
  const Constraints here = joined(context, member.guards);
  std::vector<const Factor*> open;
  for (const Factor& factor : member.factors)
    if (is_opaque(factor)) open.push_back(&factor);
  for (const Factor& factor : pattern.factors) {
    if (!is_opaque(factor)) continue;
    const Factor seen = substitute(factor, forward);
    const auto same = std::find_if(open.begin(), open.end(), [&](const Factor* other) {
      return signature(seen) == signature(*other) && same_factor(seen, *other, here);
    });
    if (same == open.end()) return false;
    open.erase(same);
  }
  return open.empty();
}

bool corresponds(const Term& pattern, const Term& member, const Constraints& context,
                 const std::function<bool(const Correspondence&)>& accept) {
  return unify(pattern, member, [&](const Correspondence& correspondence) {
    return same_opaque_factors(pattern, member, correspondence.forward, context) && accept(correspondence);
  });
}

/// Adds up like terms: those that differ only in the coefficient and the names of variables.
void combine(std::vector<Term>& terms, const Constraints& context) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i + 1 == terms.size()) break;
    const Term pattern = renamed(terms[i]);
    const Scope scope{pattern.bound, pattern.guards};
    const Substitution coordinates = unranged(scope);
    const Constraints guards = guards_at(scope, coordinates);
    for (std::size_t j = i + 1; j < terms.size();) {
      const Scope other{terms[j].bound, terms[j].guards};
      const bool same = terms[j].guards.size() == terms[i].guards.size() &&
                        terms[j].bound.size() == terms[i].bound.size() &&
                        corresponds(pattern, terms[j], context, [&](const Correspondence& correspondence) {
                          return guards_at(other, in_coordinates(correspondence, coordinates)) == guards;
                        });
      if (!same) {
        ++j;
        continue;
      }
      terms[i].coefficient = terms[i].coefficient + terms[j].coefficient;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    }
    if (terms[i].coefficient.is_zero()) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

/// Removes the groups of terms with the same body whose guards cancel at every point.
void cancel_groups(std::vector<Term>& terms, const Constraints& context) {
  std::vector<Term> open = std::move(terms);
  terms.clear();
  // A term in which a variable is fixed is a part of one in which it is not.
  std::stable_sort(open.begin(), open.end(),
                   [](const Term& a, const Term& b) { return a.bound.size() > b.bound.size(); });
  while (!open.empty()) {
    const Term pattern = renamed(open.front());
    const Scope scope{pattern.bound, pattern.guards};
    const Substitution coordinates = unranged(scope);
    std::vector<std::pair<Rational, Constraints>> members{{open.front().coefficient, guards_at(scope, coordinates)}};
    std::vector<Term> group{std::move(open.front())};
    open.erase(open.begin());
    for (auto term = open.begin(); term != open.end();) {
      const Scope other{term->bound, term->guards};
      const bool same = corresponds(pattern, *term, context, [&](const Correspondence& correspondence) {
        Constraints guards = guards_at(other, in_coordinates(correspondence, coordinates));
        for (const Constraint& one : correspondence.image) guards.push_back(substitute(one, coordinates));
        members.emplace_back(term->coefficient, std::move(guards));
        return true;
      });
      if (!same) {
        ++term;
        continue;
      }
      group.push_back(std::move(*term));
      term = open.erase(term);
    }
    std::int64_t scale = 1;
    for (const auto& [weight, guards] : members) {
      scale = std::lcm(scale, weight.denominator);
      if (scale > (std::int64_t{1} << 40)) throw ProofLimit("a coefficient overflows");
    }
    std::vector<Facts::Weighted> sets;
    for (auto& [weight, guards] : members) sets.push_back({(weight * Rational{scale, 1}).numerator, std::move(guards)});
    if (facts().cancels(context, sets) == Answer::yes) continue;
    terms.insert(terms.end(), std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
  }
}

std::vector<std::vector<Term>> by_signature(const Sum& sum) {
  std::map<std::vector<Signature>, std::vector<Term>> classes;
  for (const Term& term : sum.terms) classes[signature(term)].push_back(term);
  std::vector<std::vector<Term>> result;
  for (auto& [key, terms] : classes) result.push_back(std::move(terms));
  return result;
}

bool same_maximum(const Factor& a, const Factor& b, const Constraints& context) {
  struct Member {
    const Alternative* alternative;
    bool left;
  };
  std::vector<Member> members;
  for (const Alternative& alternative : a.alternatives) members.push_back({&alternative, true});
  for (const Alternative& alternative : b.alternatives) members.push_back({&alternative, false});
  while (!members.empty()) {
    Substitution rename;
    for (const Variable variable : members.front().alternative->bound)
      rename.emplace_back(variable, Polynomial::variable(variable));
    const Alternative pattern = substitute(*members.front().alternative, rename);
    const Scope scope{pattern.bound, pattern.guards};
    const Substitution coordinates = unranged(scope);
    std::vector<Constraints> left, right;
    (members.front().left ? left : right).push_back(guards_at(scope, coordinates));
    members.erase(members.begin());
    for (auto member = members.begin(); member != members.end();) {
      const Alternative& other = *member->alternative;
      const bool same = unify(pattern, other, [&](const Correspondence& correspondence) {
        const SumPtr seen = substitute(pattern.body, correspondence.forward);
        if (!vanishes(*seen - *other.body, joined(context, other.guards))) return false;
        (member->left ? left : right)
            .push_back(guards_at({other.bound, other.guards}, in_coordinates(correspondence, coordinates)));
        return true;
      });
      member = same ? members.erase(member) : std::next(member);
    }
    if (left == right) continue;
    if (Workspace::current().plain) return false;
    if (facts().same_union(context, left, right) != Answer::yes) return false;
  }
  return true;
}

bool same_factor(const Factor& a, const Factor& b, const Constraints& context) {
  Workspace::current().step();
  if (a.kind != b.kind || a.head != b.head) return false;
  if (a.kind == Factor::Kind::maximum) return same_maximum(a, b, context);
  check(a.kind == Factor::Kind::function, "other factors are compared when they are unified");
  for (std::size_t i = 0; i < a.operands.size(); ++i)
    if (!vanishes(*a.operands[i] - *b.operands[i], context)) return false;
  return true;
}

/// Restricts the workspace to quick answers during its lifetime.
class Plainly {
 public:
  Plainly() : before_(std::exchange(Workspace::current().plain, true)) {}
  ~Plainly() { Workspace::current().plain = before_; }
  Plainly(const Plainly&) = delete;
  Plainly& operator=(const Plainly&) = delete;

 private:
  bool before_;
};

}  // namespace

Sum combined(const Sum& sum, const Constraints& context) {
  if (sum.terms.size() < 2) return sum;
  const Plainly plainly;
  Sum result;
  for (std::vector<Term>& terms : by_signature(sum)) {
    combine(terms, context);
    result.terms.insert(result.terms.end(), terms.begin(), terms.end());
  }
  return result;
}

bool plainly_equal(const Sum& a, const Sum& b, const Constraints& context) {
  const Plainly plainly;
  return combined(simplified(a - b, context), context).terms.empty();
}

bool vanishes(const Sum& sum, const Constraints& context) {
  Workspace::current().step();
  Sum left;
  for (std::vector<Term>& terms : by_signature(simplified(sum, context))) {
    combine(terms, context);
    if (!Workspace::current().plain) cancel_groups(terms, context);
    left.terms.insert(left.terms.end(), terms.begin(), terms.end());
  }
  if (left.terms.empty()) return true;
  if (Workspace::current().plain) return false;
  // If bodies are equal only in some cases: one case after the other.
  for (const Term& term : left.terms)
    for (const Constraint& guard : term.guards) {
      if (occurs_any(term.bound, guard.value)) continue;
      if (context.size() > 12) return false;
      Constraints cases{guard, guard.negated()};
      if (guard.kind != Constraint::Kind::non_negative)
        cases = {{Constraint::Kind::zero, guard.value}, at_least(guard.value, 1), at_least(-1, guard.value)};
      for (const Constraint& assumed : cases) {
        Constraints here = context;
        if (!add_guard(here, assumed, {}) || facts().satisfiable(here) == Answer::no) continue;
        if (!vanishes(left, here)) return false;
      }
      return true;
    }
  return vanishes_by_order(left, context);
}

}  // namespace taso::verifier::normal
