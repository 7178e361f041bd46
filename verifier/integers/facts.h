// What is known about integers: bounds of variables, equations and inequalities between polynomials. Arithmetic on
// bounds answers most questions in microseconds; Z3 answers the rest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/instance/instance.h"
#include "verifier/integers/polynomial.h"

namespace taso::verifier {

/// A statement about integers.
struct Constraint {
  enum class Kind { non_negative, zero, non_zero };
  Kind kind = Kind::non_negative;
  Polynomial value;
  bool operator==(const Constraint&) const = default;
  bool operator<(const Constraint& other) const { return kind != other.kind ? kind < other.kind : value < other.value; }
  Constraint negated() const;
};
Constraint at_least(const Polynomial& a, const Polynomial& b);
Constraint equal(const Polynomial& a, const Polynomial& b);
using Constraints = std::vector<Constraint>;

enum class Answer {
  yes,
  no,       ///< there is a counterexample
  unknown,  ///< the solver gave up
};

/// Wraps the Z3 context of the current thread.
class IntegerSolver;

/// Unknowns, index variables and rounded quotients, with what is known about them.
class Facts {
 public:
  /// `effort` is Z3's step limit for one question. With `refining`, equations between products are solved by the common
  /// refinement of the two, which takes more unknowns.
  Facts(const std::vector<rules::Unknown>& unknowns, const std::vector<rules::Requirement>& hypotheses, unsigned effort,
        bool refining = false);
  ~Facts();
  Facts(Facts&&) noexcept;

  struct Entry {
    std::string name;
    std::optional<std::int64_t> least;                          ///< nothing: any integer
    std::optional<Polynomial> extent;                           ///< an exclusive upper bound
    std::optional<std::pair<Polynomial, Polynomial>> quotient;  ///< it equals this, rounded down
    bool divides = false;                                       ///< the divisor is known to be positive
  };
  const Entry& entry(Variable variable) const { return entries_[variable]; }
  std::size_t size() const { return entries_.size(); }

  /// A new variable with 0 <= variable < extent; without an extent, any integer.
  Variable fresh(std::optional<Polynomial> extent, std::string name);
  /// floor(numerator / denominator) for a positive denominator, simplified as far as bounds allow.
  Polynomial quotient(const Polynomial& numerator, const Polynomial& denominator,
                      std::span<const Constraint> guards = {});
  /// The polynomial, with unknowns replaced that the hypotheses determine.
  Polynomial polynomial(Dim dim);
  std::string text(const Polynomial& polynomial) const;
  std::string text(const Constraint& constraint) const;

  /// Whether bounds alone show the constraint, given the guards.
  bool surely(const Constraint& constraint, std::span<const Constraint> guards = {}) const;
  /// An equivalent constraint, as simple as bounds make it; one that always or never holds becomes a constant (0 >= 0,
  /// -1 >= 0).
  Constraint simplified(const Constraint& constraint, std::span<const Constraint> guards = {});
  static std::optional<bool> decided(const Constraint& constraint);

  /// Whether hypotheses and guards entail the constraint.
  Answer entails(std::span<const Constraint> guards, const Constraint& constraint);
  Answer entails(const rules::Requirement& requirement);
  /// Whether some integers satisfy hypotheses and guards.
  Answer satisfiable(std::span<const Constraint> guards);
  /// Whether, under the guards, the weights of the sets that hold add up to 0 for all integers.
  struct Weighted {
    std::int64_t weight = 0;
    Constraints guards;
  };
  Answer cancels(std::span<const Constraint> guards, const std::vector<Weighted>& sets);
  /// Whether, under the guards, one of the left sets holds exactly if one of the right sets does.
  Answer same_union(std::span<const Constraint> guards, const std::vector<Constraints>& left,
                    const std::vector<Constraints>& right);

  /// Interrupts the solver.
  void stop_on(std::stop_token stop) { stop_ = std::move(stop); }
  /// Whether refining would have an effect.
  bool refinable() const { return refinable_; }
  std::size_t solver_calls() const { return solver_calls_; }

 private:
  friend class IntegerSolver;
  void solve_equations(const std::vector<rules::Requirement>& hypotheses);
  void determine(Variable chosen, const Polynomial& solution);
  bool refine(const Polynomial& zero);
  void assume(const Constraint& constraint);
  bool occurs(Variable variable, const Polynomial& polynomial) const;
  bool non_negative(const Polynomial& polynomial, std::span<const Constraint> guards, int depth) const;
  bool bounded(const Polynomial& polynomial, int depth) const;
  /// `sure` is the answer that remains right when more is known.
  Answer ask(const std::string& key, Answer sure, const std::function<Answer(IntegerSolver&)>& question);

  std::vector<Entry> entries_;
  std::map<std::string, Variable, std::less<>> unknowns_;
  std::map<std::pair<Polynomial, Polynomial>, Variable> quotients_;
  std::vector<std::pair<Variable, Polynomial>> determined_;  // in the order in which they were solved
  Constraints hypotheses_;
  bool contradictory_ = false;
  unsigned effort_;
  bool refining_, refinable_ = false;
  std::size_t solver_calls_ = 0;
  std::size_t given_up_ = 0;  // questions that the solver did not answer
  std::stop_token stop_;
  std::unordered_map<std::string, Answer> answers_;
  struct HashPolynomial {
    std::size_t operator()(const Polynomial& polynomial) const { return polynomial.hash(); }
  };
  mutable std::unordered_map<Polynomial, bool, HashPolynomial> bounds_;  // results of `bounded`
};

}  // namespace taso::verifier
