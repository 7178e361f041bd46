#include "verifier/integers/independent_parts.h"

#include <map>

namespace taso::verifier {

void IndependentParts::add(const z3::expr& formula) {
  const auto part = static_cast<unsigned>(formulas_.size());
  formulas_.push_back(formula);
  parts_.push_back(part);
  join(formula, part);
}

unsigned IndependentParts::root(unsigned part) const {
  while (parts_[part] != part) part = parts_[part] = parts_[parts_[part]];
  return part;
}

void IndependentParts::join(const z3::expr& expression, unsigned part) {
  if (expression.is_numeral()) return;
  const bool is_constant = expression.num_args() == 0;
  if (is_constant && (expression.is_true() || expression.is_false())) return;
  // An expression seen before brings all unknowns below it; one without unknowns may join too much, which is harmless.
  const auto [known, is_new] = known_.emplace(expression.id(), part);
  if (!is_new) {
    parts_[root(part)] = root(known->second);
    return;
  }
  for (unsigned i = 0; i < expression.num_args(); ++i) join(expression.arg(i), part);
}

std::vector<std::vector<z3::expr>> IndependentParts::independent() const {
  std::vector<std::vector<z3::expr>> result;
  std::map<unsigned, std::size_t> places;
  if (!formulas_.empty()) places.emplace(root(parts_.back()), 0);
  for (unsigned i = 0; i < formulas_.size(); ++i) {
    const std::size_t place = places.emplace(root(i), places.size()).first->second;
    if (place >= result.size()) result.resize(place + 1);
    result[place].push_back(formulas_[i]);
  }
  return result;
}

}  // namespace taso::verifier
