#include <algorithm>
#include <map>

#include <z3++.h>

#include "verifier/integers/facts.h"
#include "verifier/integers/independent_parts.h"
#include "verifier/proof/z3_context.h"

namespace taso::verifier {
namespace {

z3::context& context() { return z3_context(); }

constexpr std::size_t most_given_up = 3;  // a proof that needs unanswered questions is not worth more
// A question that has used up its steps is asked again: with what it has learned, the solver often finds in a moment
// what it missed, so several short attempts are worth more than a long one.
constexpr unsigned attempts = 8;

}  // namespace

z3::context& z3_context() {
  thread_local z3::context mine;
  return mine;
}

class IntegerSolver {
 public:
  /// Without `products`, non-linear facts are left out: the rest is weaker, but quickly decided.
  IntegerSolver(const Facts& facts, unsigned effort, bool products)
      : facts_(facts), products_(products), limits_(context()) {
    // No "timeout": a busy machine does not change the answer.
    limits_.set("rlimit", std::max(effort / attempts, 1u));
    limits_.set("ctrl_c", false);  // see check_certificate.cpp
    assume(facts.hypotheses_);
  }

  void assume(std::span<const Constraint> known) {
    for (const Constraint& constraint : known) {
      if (products_ || is_linear(constraint.value)) add(of(constraint));
      if (constraint.kind != Constraint::Kind::non_zero) add_consequences(constraint.value);
      if (constraint.kind == Constraint::Kind::zero) add_consequences(-constraint.value);
    }
  }
  void deny(const Constraint& constraint) {
    add(!of(constraint));
    if (constraint.kind == Constraint::Kind::non_negative) add_consequences(-constraint.value - 1);
  }

  z3::expr of(const Polynomial& polynomial) {
    z3::expr sum = context().int_val(0);
    bool first = true;
    for (const auto& term : polynomial.terms()) {
      z3::expr product = context().int_val(term.coefficient);
      bool unit = term.coefficient == 1;
      for (const Variable variable : term.monomial) {
        product = unit ? of(variable) : product * of(variable);
        unit = false;
      }
      sum = first ? product : sum + product;
      first = false;
    }
    return sum;
  }
  z3::expr of(const Constraint& constraint) {
    const z3::expr value = of(constraint.value);
    switch (constraint.kind) {
      case Constraint::Kind::non_negative: return value >= 0;
      case Constraint::Kind::zero: return value == 0;
      case Constraint::Kind::non_zero: break;
    }
    return value != 0;
  }
  z3::expr of(const Constraints& constraints) {
    z3::expr_vector all(context());
    for (const Constraint& constraint : constraints) all.push_back(of(constraint));
    return z3::mk_and(all);
  }
  z3::expr any_of(const std::vector<Constraints>& sets) {
    z3::expr_vector all(context());
    for (const Constraints& set : sets) all.push_back(of(set));
    return z3::mk_or(all);
  }
  void add(const z3::expr& formula) { parts_.add(formula); }
  z3::expr integer(const char* name) { return context().int_const(name); }

  /// Whether all added constraints can be satisfied.
  Answer satisfiable() {
    // The context belongs to the asking thread; the stop request comes from another.
    z3::context& asked = context();
    const std::stop_callback interrupt(facts_.stop_, [&asked] { asked.interrupt(); });
    Answer all = Answer::yes;
    for (const std::vector<z3::expr>& part : parts_.independent()) {
      const Answer one = satisfiable(part);
      if (one == Answer::no) return Answer::no;
      if (one == Answer::unknown) all = Answer::unknown;
    }
    return all;
  }

 private:
  Answer satisfiable(const std::vector<z3::expr>& formulas) const {
    z3::solver solver(context(), z3::solver::simple());
    solver.set(limits_);
    for (const z3::expr& formula : formulas) solver.add(formula);
    for (unsigned i = 0; i < attempts && !facts_.stop_.stop_requested(); ++i) {
      switch (solver.check()) {
        case z3::sat: return Answer::yes;
        case z3::unsat: return Answer::no;
        default: break;
      }
      // Only the limit of steps is worth another attempt.
      const std::string reason = solver.reason_unknown();
      if (reason != "canceled" && reason.find("resource") == std::string::npos) break;
    }
    return Answer::unknown;
  }

  /// Linear facts that follow from one or two inequalities with products. Z3 often misses them.
  void add_consequences(const Polynomial& non_negative) {
    if (is_linear(non_negative)) return;
    add_signs(non_negative);
    // Adding facts may mention new variables, and so find more inequalities.
    for (std::size_t i = 0; i < non_negative_.size(); ++i) {
      const Polynomial& other = non_negative_[i];
      const Polynomial sum = non_negative + other;
      if (sum.terms().size() < non_negative.terms().size() + other.terms().size() - 1) add_signs(sum);
    }
    non_negative_.push_back(non_negative);
  }

  /// What v A + B >= 0 with v >= 1 and B <= 0 says of A.
  void add_signs(const Polynomial& non_negative) {
    std::vector<Variable> variables;
    non_negative.collect(variables);
    for (const Variable variable : variables) {
      if (facts_.entry(variable).least.value_or(0) < 1) continue;
      const auto parts = non_negative.linear_in(variable);
      if (!parts || parts->first.constant() || !(products_ || is_linear(parts->first))) continue;
      const auto& [factor, rest] = *parts;
      for (const std::int64_t least : {1, 0})
        if (facts_.surely(at_least(-rest, least))) {
          add(of(at_least(factor, least)));
          break;
        }
    }
  }

  // The facts about a variable are asserted when it is first mentioned.
  z3::expr of(Variable variable) {
    const auto known = variables_.find(variable);
    if (known != variables_.end()) return known->second;
    const z3::expr result = context().int_const(("v" + std::to_string(variable)).c_str());
    variables_.emplace(variable, result);
    const Facts::Entry& entry = facts_.entry(variable);
    if (entry.least) add(result >= context().int_val(*entry.least));
    const Polynomial self = Polynomial::variable(variable);
    if (entry.extent) {
      if (products_ || is_linear(*entry.extent)) add(result < of(*entry.extent));
      add_consequences(*entry.extent - self - 1);
    }
    if (entry.quotient) {
      const auto& [above, below] = *entry.quotient;
      if (products_ || (below.constant() && is_linear(above))) {
        const z3::expr numerator = of(above), divisor = of(below);
        add(z3::implies(divisor > 0, divisor * result <= numerator && numerator < divisor * result + divisor));
      }
      if (facts_.surely(at_least(below, 1))) {
        add_consequences(above - below * self);
        add_consequences(below * self + below - 1 - above);
      }
    }
    const auto solved = std::find_if(facts_.determined_.begin(), facts_.determined_.end(),
                                     [&](const auto& determined) { return determined.first == variable; });
    if (solved != facts_.determined_.end() && (products_ || is_linear(solved->second)))
      add(result == of(solved->second));
    return result;
  }

  static bool is_linear(const Polynomial& polynomial) {
    return std::all_of(polynomial.terms().begin(), polynomial.terms().end(),
                       [](const auto& term) { return term.monomial.degree() <= 1; });
  }

  const Facts& facts_;
  bool products_;
  z3::params limits_;
  IndependentParts parts_;
  std::vector<Polynomial> non_negative_;  ///< those with products
  std::map<Variable, z3::expr> variables_;
};

Answer Facts::ask(const std::string& key, Answer sure, const std::function<Answer(IntegerSolver&)>& question) {
  const auto known = answers_.find(key);
  if (known != answers_.end()) return known->second;
  Answer answer = Answer::unknown;
  for (const bool products : {false, true}) {
    // The solver cannot handle open equations between products: refining comes next.
    if (products && (given_up_ >= most_given_up || (refinable_ && !refining_))) return Answer::unknown;
    ++solver_calls_;
    try {
      IntegerSolver solver(*this, effort_, products);
      answer = question(solver);
    } catch (const z3::exception&) {
      answer = Answer::unknown;
    }
    if (answer == sure) break;  // what follows from fewer facts follows from all
  }
  if (answer == Answer::unknown) ++given_up_;
  answers_.emplace(key, answer);
  return answer;
}

namespace {

Answer opposite(Answer answer) {
  return answer == Answer::yes ? Answer::no : answer == Answer::no ? Answer::yes : Answer::unknown;
}

void append(std::string& key, const Polynomial& polynomial) {
  for (const auto& term : polynomial.terms()) {
    key += std::to_string(term.coefficient);
    for (const Variable variable : term.monomial) key += '*' + std::to_string(variable);
    key += '+';
  }
  key += ';';
}

void append(std::string& key, std::span<const Constraint> constraints) {
  for (const Constraint& constraint : constraints) {
    key += "=<!"[static_cast<int>(constraint.kind)];
    append(key, constraint.value);
  }
  key += '|';
}

}  // namespace

Answer Facts::entails(std::span<const Constraint> guards, const Constraint& constraint) {
  if (contradictory_ || surely(constraint, guards)) return Answer::yes;
  std::string key = "e";
  append(key, guards);
  append(key, std::span(&constraint, 1));
  return ask(key, Answer::yes, [&](IntegerSolver& solver) {
    solver.assume(guards);
    solver.deny(constraint);
    return opposite(solver.satisfiable());
  });
}

Answer Facts::entails(const rules::Requirement& requirement) {
  const Polynomial left = polynomial(requirement.left), right = polynomial(requirement.right);
  switch (requirement.kind) {
    case rules::Requirement::Kind::equal: return entails({}, equal(left, right));
    case rules::Requirement::Kind::not_equal: return entails({}, {Constraint::Kind::non_zero, left - right});
    case rules::Requirement::Kind::at_least: return entails({}, at_least(left, right));
    case rules::Requirement::Kind::divides: break;
  }
  if (contradictory_) return Answer::yes;
  if (right.divided_by(left).remainder.is_zero() && surely(at_least(left, 1))) return Answer::yes;
  std::string key = "d";
  append(key, left);
  append(key, right);
  return ask(key, Answer::yes, [&](IntegerSolver& solver) {
    const z3::expr divisor = solver.of(left), whole = solver.of(right);
    const z3::expr quotient = solver.integer("quotient"), rest = solver.integer("remainder");
    solver.add(divisor <= 0 || (whole == divisor * quotient + rest && rest > 0 && rest < divisor));
    return opposite(solver.satisfiable());
  });
}

Answer Facts::satisfiable(std::span<const Constraint> guards) {
  if (contradictory_) return Answer::no;
  std::string key = "s";
  append(key, guards);
  return ask(key, Answer::no, [&](IntegerSolver& solver) {
    solver.assume(guards);
    return solver.satisfiable();
  });
}

Answer Facts::cancels(std::span<const Constraint> known, const std::vector<Weighted>& all) {
  if (contradictory_ || all.empty()) return Answer::yes;
  // Outside the intersection of all sets there is nothing to cancel.
  Constraints guards(known.begin(), known.end());
  std::vector<Weighted> sets = all;
  for (const Constraint& guard : all.front().guards) {
    const auto has = [&](const Weighted& set) {
      return std::find(set.guards.begin(), set.guards.end(), guard) != set.guards.end();
    };
    if (!std::all_of(all.begin(), all.end(), has)) continue;
    guards.push_back(guard);
    for (Weighted& set : sets) std::erase(set.guards, guard);
  }
  std::int64_t always = 0;
  bool settled = true;
  for (const Weighted& set : sets) {
    const bool here = std::all_of(set.guards.begin(), set.guards.end(),
                                  [&](const Constraint& guard) { return surely(guard, guards); });
    settled = settled && here;
    if (here && __builtin_add_overflow(always, set.weight, &always)) return Answer::unknown;
  }
  if (settled) return always == 0 ? Answer::yes : Answer::unknown;
  std::string key = "c";
  append(key, guards);
  for (const Weighted& set : sets) {
    key += std::to_string(set.weight) + ':';
    append(key, set.guards);
  }
  return ask(key, Answer::yes, [&](IntegerSolver& solver) {
    solver.assume(guards);
    z3::expr sum = context().int_val(0);
    for (const Weighted& set : sets)
      sum = sum + z3::ite(solver.of(set.guards), context().int_val(set.weight), context().int_val(0));
    solver.add(sum != 0);
    return opposite(solver.satisfiable());
  });
}

Answer Facts::same_union(std::span<const Constraint> guards, const std::vector<Constraints>& left,
                         const std::vector<Constraints>& right) {
  if (contradictory_) return Answer::yes;
  std::string key = "u";
  append(key, guards);
  for (const Constraints& set : left) append(key, set);
  key += '/';
  for (const Constraints& set : right) append(key, set);
  return ask(key, Answer::yes, [&](IntegerSolver& solver) {
    solver.assume(guards);
    solver.add(solver.any_of(left) != solver.any_of(right));
    return opposite(solver.satisfiable());
  });
}

}  // namespace taso::verifier
