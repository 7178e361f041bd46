#include "verifier/normal_form/unification.h"

#include <algorithm>

namespace taso::verifier::normal {
namespace {

struct Equation {
  Polynomial pattern, member;
};

/// An element that is read inside an opaque factor.
struct Access {
  std::size_t input;
  const std::vector<Polynomial>* index;
};

void collect_accesses(const Sum& sum, std::vector<Access>& accesses);

void collect_accesses(const Factor& factor, std::vector<Access>& accesses) {
  if (factor.kind == Factor::Kind::access) accesses.push_back({factor.head, &factor.index});
  for (const SumPtr& operand : factor.operands) collect_accesses(*operand, accesses);
  for (const Alternative& alternative : factor.alternatives) collect_accesses(*alternative.body, accesses);
}

void collect_accesses(const Sum& sum, std::vector<Access>& accesses) {
  for (const Term& term : sum.terms)
    for (const Factor& factor : term.factors) collect_accesses(factor, accesses);
}

bool is_among(Variable variable, const std::vector<Variable>& variables) {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

/// The opaque factors of a term or an alternative, which only help to find values of variables.
struct Hints {
  std::vector<std::vector<Access>> accesses;  // of each opaque factor
  std::vector<Variable> hidden;               // variables bound inside them
};

void add_hint(Hints& hints, const Sum& sum) {
  collect_accesses(sum, hints.accesses.emplace_back());
  for (const Term& term : sum.terms) {
    hints.hidden.insert(hints.hidden.end(), term.bound.begin(), term.bound.end());
    for (const Factor& factor : term.factors) collect_binders(factor, hints.hidden);
  }
}

class Unifier {
 public:
  using Accept = std::function<bool(const Correspondence&)>;
  Unifier(std::vector<Variable> pattern, std::vector<Variable> member, Hints pattern_hints, Hints member_hints,
          const Accept& accept)
      : pattern_(std::move(pattern)),
        member_(std::move(member)),
        pattern_hints_(std::move(pattern_hints)),
        member_hints_(std::move(member_hints)),
        accept_(accept) {}

  using Continue = std::function<bool(const Substitution&)>;

  /// Pairs the pattern's plain factors, from `place` on, with distinct factors of the member.
  bool pair_factors(const std::vector<const Factor*>& pattern, const std::vector<const Factor*>& member,
                    std::size_t place, std::vector<bool>& used, const Substitution& values) {
    if (place == pattern.size()) return resolve_from_hints(values);
    const Factor& factor = *pattern[place];
    for (std::size_t i = 0; i < member.size(); ++i) {
      const Factor& other = *member[i];
      if (used[i] || other.kind != factor.kind || other.head != factor.head) continue;
      std::vector<Equation> equations;
      for (std::size_t axis = 0; axis < factor.index.size(); ++axis)
        equations.push_back({factor.index[axis], other.index[axis]});
      used[i] = true;
      const bool found = solve(std::move(equations), pattern_, values, [&](const Substitution& extended) {
        return pair_factors(pattern, member, place + 1, used, extended);
      });
      used[i] = false;
      if (found) return true;
    }
    return false;
  }

  bool resolve_from_hints(const Substitution& values) {
    Workspace::current().step();
    const bool resolved = std::all_of(pattern_.begin(), pattern_.end(),
                                      [&](Variable variable) { return find(values, variable) != nullptr; });
    if (resolved) return finish(values);
    std::vector<Variable> open = pattern_;
    open.insert(open.end(), pattern_hints_.hidden.begin(), pattern_hints_.hidden.end());
    for (const auto& inside : pattern_hints_.accesses)
      for (const Access& access : inside) {
        const bool helpful = std::any_of(pattern_.begin(), pattern_.end(), [&](Variable variable) {
          return find(values, variable) == nullptr &&
                 std::any_of(access.index->begin(), access.index->end(),
                             [&](const Polynomial& index) { return occurs(variable, index); });
        });
        if (!helpful) continue;
        for (const auto& others : member_hints_.accesses)
          for (const Access& other : others) {
            if (other.input != access.input) continue;
            std::vector<Equation> equations;
            for (std::size_t axis = 0; axis < access.index->size(); ++axis)
              equations.push_back({(*access.index)[axis], (*other.index)[axis]});
            const bool found = solve(std::move(equations), open, values, [&](const Substitution& extended) {
              Substitution outer;
              for (const auto& [variable, value] : extended) {
                if (!is_among(variable, pattern_)) continue;
                if (occurs_any(member_hints_.hidden, value) || occurs_any(open, value)) return false;
                outer.emplace_back(variable, value);
              }
              return outer.size() > values.size() && resolve_from_hints(outer);
            });
            if (found) return true;
          }
      }
    return assign_rest(values);
  }

 private:
  /// Solves the equations for the open variables, in every way that is easy to find.
  bool solve(std::vector<Equation> equations, const std::vector<Variable>& open, const Substitution& values,
             const Continue& next) {
    Workspace::current().step();
    struct Pending {
      Polynomial pattern, member;
      std::vector<Variable> unresolved;
    };
    std::optional<Pending> easiest;
    std::vector<Equation> rest;
    for (const Equation& equation : equations) {
      const Polynomial pattern = substitute(equation.pattern, values);
      if (pattern == equation.member) continue;
      Pending pending{pattern, equation.member, {}};
      for (const Variable variable : open)
        if (find(values, variable) == nullptr && occurs(variable, pattern)) pending.unresolved.push_back(variable);
      if (pending.unresolved.empty()) return false;
      rest.push_back({pattern, equation.member});
      if (!easiest || pending.unresolved.size() < easiest->unresolved.size()) easiest = std::move(pending);
    }
    if (!easiest) return next(values);
    const auto attempt = [&](Variable variable, const Polynomial& value) {
      Substitution extended = values;
      for (auto& [known, polynomial] : extended) polynomial = substitute(polynomial, {{variable, value}});
      extended.emplace_back(variable, value);
      return solve(rest, open, extended, next);
    };
    for (const Variable variable : easiest->unresolved) {
      const auto linear = easiest->pattern.linear_in(variable);
      if (!linear || occurs(variable, linear->second)) continue;
      const auto& [factor, remainder] = *linear;
      if (easiest->unresolved.size() == 1) {
        const auto division = (easiest->member - remainder).divided_by(factor);
        if (division.remainder.is_zero()) return attempt(variable, division.quotient);
      }
      std::vector<Variable> candidates;
      easiest->member.collect(candidates);
      for (const Variable candidate : candidates) {
        const auto other = easiest->member.linear_in(candidate);
        if (!other || other->first != factor) continue;
        if (attempt(variable, Polynomial::variable(candidate))) return true;
      }
    }
    return false;
  }

  /// Variables that occur only in guards: any order of them may work.
  bool assign_rest(const Substitution& values) {
    std::vector<Variable> open, free;
    for (const Variable variable : pattern_)
      if (find(values, variable) == nullptr) open.push_back(variable);
    for (const Variable variable : member_) {
      const bool used =
          std::any_of(values.begin(), values.end(), [&](const auto& entry) { return occurs(variable, entry.second); });
      if (!used) free.push_back(variable);
    }
    if (open.size() != free.size() || open.size() > 3) return false;
    std::sort(free.begin(), free.end());
    do {
      Substitution extended = values;
      for (std::size_t i = 0; i < open.size(); ++i) extended.emplace_back(open[i], Polynomial::variable(free[i]));
      if (finish(extended)) return true;
    } while (std::next_permutation(free.begin(), free.end()));
    return false;
  }

  /// Inverts the map. Accepts only maps that are evidently one-to-one on the integers: each of the member's variables
  /// in turn is another one, or its negative, plus variables that are settled before.
  bool finish(const Substitution& forward) {
    Correspondence correspondence{forward, {}, {}};
    std::vector<Variable> open = member_;
    std::vector<bool> done(forward.size(), false);
    for (bool progress = true; progress && !open.empty();) {
      progress = false;
      for (std::size_t i = 0; i < forward.size(); ++i) {
        if (done[i]) continue;
        const auto& [variable, value] = forward[i];
        std::vector<Variable> inside;
        for (const Variable candidate : open)
          if (occurs(candidate, value)) inside.push_back(candidate);
        if (inside.size() != 1) continue;
        const auto linear = value.linear_in(inside[0]);
        if (!linear || occurs(inside[0], linear->second)) continue;
        const auto number = linear->first.constant();
        if (!number || (*number != 1 && *number != -1)) continue;
        const Polynomial difference =
            Polynomial::variable(variable) - substitute(linear->second, correspondence.backward);
        correspondence.backward.emplace_back(inside[0], *number == 1 ? difference : -difference);
        std::erase(open, inside[0]);
        done[i] = true;
        progress = true;
      }
    }
    if (!open.empty()) return false;
    for (std::size_t i = 0; i < forward.size(); ++i)
      if (!done[i])
        correspondence.image.push_back(
            equal(Polynomial::variable(forward[i].first), substitute(forward[i].second, correspondence.backward)));
    return accept_(correspondence);
  }

  std::vector<Variable> pattern_, member_;
  Hints pattern_hints_, member_hints_;
  const Accept& accept_;
};

}  // namespace

bool is_opaque(const Factor& factor) {
  return factor.kind == Factor::Kind::function || factor.kind == Factor::Kind::maximum;
}

bool unify(const Term& pattern, const Term& member, const std::function<bool(const Correspondence&)>& accept) {
  if (pattern.bound.size() < member.bound.size() || pattern.factors.size() != member.factors.size()) return false;
  Hints pattern_hints, member_hints;
  std::vector<const Factor*> plain, other_plain;
  const auto sort = [](const Term& term, std::vector<const Factor*>& list, Hints& hints) {
    for (const Factor& factor : term.factors) {
      if (!is_opaque(factor)) {
        list.push_back(&factor);
        continue;
      }
      collect_accesses(factor, hints.accesses.emplace_back());
      collect_binders(factor, hints.hidden);
    }
  };
  sort(pattern, plain, pattern_hints);
  sort(member, other_plain, member_hints);
  if (plain.size() != other_plain.size()) return false;
  Unifier unifier(pattern.bound, member.bound, std::move(pattern_hints), std::move(member_hints), accept);
  std::vector<bool> used(other_plain.size(), false);
  return unifier.pair_factors(plain, other_plain, 0, used, {});
}

bool unify(const Alternative& pattern, const Alternative& member,
           const std::function<bool(const Correspondence&)>& accept) {
  if (pattern.bound.size() != member.bound.size()) return false;
  Hints pattern_hints, member_hints;
  add_hint(pattern_hints, *pattern.body);
  add_hint(member_hints, *member.body);
  Unifier unifier(pattern.bound, member.bound, std::move(pattern_hints), std::move(member_hints), accept);
  return unifier.resolve_from_hints({});
}

}  // namespace taso::verifier::normal
