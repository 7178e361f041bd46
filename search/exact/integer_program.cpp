#include "search/exact/integer_program.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "ops/core/error.h"

#ifdef TASO_HAS_CBC
#include <Cbc_C_Interface.h>
#endif

namespace taso::search {

IntegerProgram::Variable IntegerProgram::add(double cost, bool is_whole) {
  costs_.push_back(cost);
  is_whole_.push_back(is_whole);
  return costs_.size() - 1;
}

void IntegerProgram::add_row(Terms terms, double least, double most) {
  rows_.push_back({std::move(terms), least, most});
}

#ifdef TASO_HAS_CBC

namespace {

/// What CBC's tolerances may hide: it takes a solution for optimal, and a bound for reached, within these.
constexpr double relative_tolerance = 1e-7, absolute_tolerance = 1e-6;

}  // namespace

bool has_cbc() { return true; }

IntegerProgram::Solution IntegerProgram::solve(std::size_t most_nodes) const {
  if (costs_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.least <= 0; }))
    return {Solution::End::solved, {}, 0, 0};
  const auto columns = static_cast<int>(costs_.size());
  // By column, as CBC wants it.
  std::vector<std::vector<std::pair<int, double>>> entries(costs_.size());
  std::vector<double> least, most;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (const auto& [variable, factor] : rows_[i].terms) entries[variable].emplace_back(static_cast<int>(i), factor);
    least.push_back(rows_[i].least);
    most.push_back(rows_[i].most);
  }
  std::vector<int> starts{0}, places;
  std::vector<double> factors;
  for (const auto& column : entries) {
    for (const auto& [row, factor] : column) {
      places.push_back(row);
      factors.push_back(factor);
    }
    starts.push_back(static_cast<int>(places.size()));
  }
  const std::vector<double> zeros(costs_.size(), 0), ones(costs_.size(), 1);
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "slogLevel", "0");
  Cbc_loadProblem(model.get(), columns, static_cast<int>(rows_.size()), starts.data(), places.data(), factors.data(),
                  zeros.data(), ones.data(), costs_.data(), least.data(), most.data());
  for (int i = 0; i < columns; ++i)
    if (is_whole_[static_cast<std::size_t>(i)]) Cbc_setInteger(model.get(), i);
  Cbc_setParameter(model.get(), "maxNodes", std::to_string(most_nodes).c_str());
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  Cbc_solve(model.get());

  Solution solution;
  if (Cbc_isProvenInfeasible(model.get()) != 0) return solution;
  const bool is_best = Cbc_isProvenOptimal(model.get()) != 0;
  solution.end = is_best ? Solution::End::solved : Solution::End::limit;
  const double* const values = is_best ? Cbc_getColSolution(model.get()) : Cbc_bestSolution(model.get());
  if (values != nullptr && (is_best || Cbc_numberSavedSolutions(model.get()) > 0)) {
    solution.values.assign(values, values + columns);
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (is_whole_[i]) solution.values[i] = std::round(solution.values[i]);
      solution.cost += costs_[i] * solution.values[i];
    }
  }
  // Without a bound CBC tells a huge number. Then the least that the costs allow counts.
  double lowest = 0;
  for (const double cost : costs_) lowest += std::min(cost, 0.0);
  const double known = Cbc_getBestPossibleObjValue(model.get());
  const bool has_solution = !solution.values.empty();
  if (is_best && has_solution)
    solution.bound = solution.cost;
  else
    solution.bound = std::abs(known) < 1e30 ? known : lowest;
  if (has_solution) solution.bound = std::min(solution.bound, solution.cost);
  solution.bound -= absolute_tolerance + relative_tolerance * std::abs(solution.bound);
  return solution;
}

#else

bool has_cbc() { return false; }

IntegerProgram::Solution IntegerProgram::solve(std::size_t) const { throw EnvironmentError(std::string(no_cbc)); }

#endif

}  // namespace taso::search
