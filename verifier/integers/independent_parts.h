// Formulas in parts that share no unknown. Each part is a question of its own, and most of what is known has nothing to
// do with what is asked: products of unknowns elsewhere can keep Z3 busy for minutes.
#pragma once

#include <unordered_map>
#include <vector>

#include <z3++.h>

namespace taso::verifier {

class IndependentParts {
 public:
  void add(const z3::expr& formula);
  /// The part of the formula added last comes first.
  std::vector<std::vector<z3::expr>> independent() const;

 private:
  unsigned root(unsigned part) const;
  /// Joins the part with those of all unknowns below the expression.
  void join(const z3::expr& expression, unsigned part);

  std::vector<z3::expr> formulas_;                ///< each begins as a part of its own
  mutable std::vector<unsigned> parts_;           ///< by formula: one of the same part, itself for the root
  std::unordered_map<unsigned, unsigned> known_;  ///< Z3's number of an expression to a formula that has it
};

}  // namespace taso::verifier
