#include "verifier/agreement/bounds.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ops/core/error.h"
#include "verifier/normal_form/operators.h"

namespace taso::verifier {
namespace {

using namespace normal;

constexpr std::size_t most_bounds = 48;  // for one axis
constexpr std::size_t most_values = 64;  // of one polynomial

/// Part of an index: the variable, and the index of its axis as a polynomial over this and other variables.
struct Coordinate {
  Variable variable = 0;
  std::size_t axis = 0;
  Polynomial index;
};

class BoundFinder {
 public:
  explicit BoundFinder(const rules::Instance& instance) {
    for (const rules::Unknown& unknown : instance.unknowns) names_.insert(unknown.name);
    const Shape& shape = instance.shape(instance.source[0]);
    bounds_.resize(shape.size());
    Index index;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      bounds_[axis] = {Dim(0), shape[axis]};
      const Polynomial extent = facts().polynomial(shape[axis]);
      if (extent == Polynomial(1)) {
        index.emplace_back();
        continue;
      }
      const Variable variable = facts().fresh(extent, "i");
      index.push_back(Polynomial::variable(variable));
      coordinates_.push_back({variable, axis, index.back()});
    }
    difference_ = element(instance, instance.source[0], index) - element(instance, instance.target[0], index);
    split_indices();
  }

  std::vector<std::vector<Dim>> find() {
    visit(difference_);
    for (std::vector<Dim>& list : bounds_) {
      std::stable_sort(list.begin() + 2, list.end(),
                       [](const Dim& a, const Dim& b) { return a.text().size() < b.text().size(); });
      if (list.size() > most_bounds) list.resize(most_bounds);
    }
    return std::move(bounds_);
  }

 private:
  /// Indices that are divided with rounding become pairs, as in the proof.
  void split_indices() {
    while (true) {
      Workspace::current().step();
      std::vector<Variable> occurring, bound, free;
      collect_variables(difference_, occurring);
      for (const normal::Term& term : difference_.terms) {
        bound.insert(bound.end(), term.bound.begin(), term.bound.end());
        for (const Factor& factor : term.factors) collect_binders(factor, bound);
      }
      for (const Coordinate& coordinate : coordinates_) free.push_back(coordinate.variable);
      const auto change = change_of_variable(occurring, free, bound);
      if (!change) return;
      const Substitution substitution{{change->variable, change->value}};
      const auto place = std::find_if(coordinates_.begin(), coordinates_.end(),
                                      [&](const Coordinate& one) { return one.variable == change->variable; });
      const std::size_t axis = place->axis;
      coordinates_.erase(place);
      for (Coordinate& coordinate : coordinates_)
        if (coordinate.axis == axis) coordinate.index = substitute(coordinate.index, substitution);
      Polynomial index = change->value;
      for (const Coordinate& coordinate : coordinates_)
        if (coordinate.axis == axis) index = coordinate.index;
      coordinates_.push_back({change->upper, axis, index});
      coordinates_.push_back({change->lower, axis, index});
      Sum changed;
      for (const normal::Term& term : difference_.terms)
        simplify_into(changed.terms, substitute(term, substitution), {});
      difference_ = std::move(changed);
    }
  }

  void visit(const Sum& sum) {
    for (const normal::Term& term : sum.terms) {
      for (const Constraint& guard : term.guards) visit(guard);
      for (const Factor& factor : term.factors) {
        for (const SumPtr& operand : factor.operands) visit(*operand);
        for (const Alternative& alternative : factor.alternatives) {
          for (const Constraint& guard : alternative.guards) visit(guard);
          visit(*alternative.body);
        }
      }
    }
  }

  /// factor * variable + rest >= 0 changes its value at -rest / factor.
  void visit(const Constraint& guard) {
    for (const Coordinate& coordinate : coordinates_) {
      const auto linear = guard.value.linear_in(coordinate.variable);
      if (!linear || occurs(coordinate.variable, linear->second) || linear->first.is_zero()) continue;
      for (const Polynomial& rest : values_of(linear->second)) {
        Workspace::current().step();
        Polynomial first;  // the least value of the variable on the side of the large ones
        if (facts().surely(at_least(linear->first, 1)))
          first = facts().quotient(linear->first - 1 - rest, linear->first);  // rounded up
        else if (facts().surely(at_least(-linear->first, 1)))
          first = facts().quotient(rest, -linear->first) + 1;
        else
          continue;
        add(coordinate, first);
        if (guard.kind == Constraint::Kind::non_negative) continue;
        add(coordinate, first + 1);
      }
    }
  }

  void add(const Coordinate& coordinate, const Polynomial& value) {
    for (const Polynomial& index : values_of(substitute(coordinate.index, {{coordinate.variable, value}})))
      if (const auto bound = dim_of(index)) {
        std::vector<Dim>& list = bounds_[coordinate.axis];
        if (std::find(list.begin(), list.end(), *bound) == list.end()) list.push_back(*bound);
      }
  }

  /// The polynomial with its index variables at the ends of their ranges; all values if a range has few.
  std::vector<Polynomial> values_of(const Polynomial& polynomial) const {
    std::vector<Polynomial> values{polynomial};
    for (std::size_t i = 0; i < values.size() && values.size() < most_values;) {
      std::vector<Variable> variables;
      values[i].collect(variables);
      const auto ranged = std::find_if(variables.begin(), variables.end(), [&](Variable variable) {
        const Facts::Entry& entry = facts().entry(variable);
        return entry.extent && !entry.quotient && entry.least == 0;
      });
      if (ranged == variables.end()) {
        ++i;
        continue;
      }
      const Variable variable = *ranged;
      const Polynomial extent = *facts().entry(variable).extent;
      const Polynomial before = values[i];
      values[i] = before.substitute(variable, 0);
      const auto number = extent.constant();
      for (std::int64_t value = 1; number && *number <= 5 && value + 1 < *number; ++value)
        values.push_back(before.substitute(variable, value));
      if (extent != Polynomial(1)) values.push_back(before.substitute(variable, extent - 1));
    }
    return values;
  }

  /// Nothing if it contains more than the rule's unknowns.
  std::optional<Dim> dim_of(const Polynomial& polynomial) const {
    Dim sum = 0;
    for (const auto& term : polynomial.terms()) {
      Dim product = term.coefficient;
      for (const Variable variable : term.monomial) {
        const Facts::Entry& entry = facts().entry(variable);
        if (entry.quotient) {
          const auto numerator = dim_of(entry.quotient->first), denominator = dim_of(entry.quotient->second);
          if (!numerator || !denominator || !entry.divides) return std::nullopt;
          product = product * floor_div(*numerator, *denominator);
        } else if (names_.contains(entry.name) && !entry.extent) {
          product = product * Dim::symbol(entry.name);
        } else {
          return std::nullopt;
        }
      }
      sum = sum + product;
    }
    return sum;
  }

  std::set<std::string> names_;
  std::vector<Coordinate> coordinates_;
  Sum difference_;
  std::vector<std::vector<Dim>> bounds_;
};

}  // namespace

std::vector<std::vector<Dim>> bounds_of(const rules::Instance& instance, const NormalFormLimits& limits) {
  std::vector<std::vector<Dim>> ends;
  for (const Dim& dim : instance.shape(instance.source[0])) ends.push_back({Dim(0), dim});
  try {
    Workspace workspace(instance.unknowns, instance.hypotheses, limits.effort, limits.steps, limits.stop);
    return BoundFinder(instance).find();
  } catch (const ProofLimit&) {
  } catch (const ShapeError&) {
  }
  return ends;
}

}  // namespace taso::verifier
