#include "verifier/normal_form/normal_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "verifier/normal_form/matching.h"
#include "verifier/normal_form/operators.h"

namespace taso::verifier {
namespace {

using namespace normal;

/// Both sides of one result at the same unknown index.
struct Sides {
  std::vector<Variable> free;
  Constraints context;  // holds for the index
  Sum source, target;
};

/// An unknown index in a box, or anywhere in the result if there is none.
Index index_in(const Shape& shape, const std::vector<Interval>* box, Sides& sides) {
  Facts& facts = Workspace::current().facts;
  Index index;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Polynomial extent = facts.polynomial(shape[axis]);
    Polynomial low, high = extent;
    if (box != nullptr) low = facts.polynomial((*box)[axis].low), high = facts.polynomial((*box)[axis].high);
    if (high - low == Polynomial(1)) {
      index.push_back(low);
    } else {
      // Counted from the lower bound: that range is what most questions are about.
      sides.free.push_back(facts.fresh(high - low, fmt::format("i{}", axis)));
      index.push_back(low + Polynomial::variable(sides.free.back()));
    }
    if (!low.is_zero()) sides.context.push_back(at_least(index.back(), 0));
    if (high != extent) sides.context.push_back(at_least(extent - 1, index.back()));
  }
  return index;
}

Sides sides(const rules::Instance& instance, std::size_t result, const std::vector<Interval>* box = nullptr) {
  Sides sides;
  const Index index = index_in(instance.shape(instance.source[result]), box, sides);
  sides.source = element(instance, instance.source[result], index);
  sides.target = element(instance, instance.target[result], index);
  return sides;
}

bool same_result(const rules::Instance& instance, std::size_t result, const std::vector<Interval>* box) {
  auto [free, given, source, target] = sides(instance, result, box);
  Constraints context;
  for (const Constraint& known : given)
    if (!add_guard(context, known, {})) return true;  // there is no such index
  Sum difference = source - target;
  // Indices that are divided with rounding (such as a channel by the channels of a group) become pairs.
  while (true) {
    Workspace::current().step();
    std::vector<Variable> occurring, bound;
    collect_variables(difference, occurring);
    for (const normal::Term& term : difference.terms) {
      bound.insert(bound.end(), term.bound.begin(), term.bound.end());
      for (const Factor& factor : term.factors) collect_binders(factor, bound);
    }
    const auto change = change_of_variable(occurring, free, bound);
    if (!change) break;
    std::erase(free, change->variable);
    free.push_back(change->upper);
    free.push_back(change->lower);
    const Substitution substitution{{change->variable, change->value}};
    Constraints moved;
    add_range(moved, change->value, change->variable);
    for (const Constraint& known : context) moved.push_back(substitute(known, substitution));
    context.clear();
    for (const Constraint& known : moved)
      if (!add_guard(context, known, {})) return true;  // there is no such index
    Sum changed;
    for (const normal::Term& term : difference.terms)
      simplify_into(changed.terms, substitute(term, substitution), context);
    difference = std::move(changed);
  }
  return vanishes(difference, context);
}

/// Why it is not proved; empty if it is.
std::string obstacle(const rules::Instance& instance, const std::vector<Interval>* box, const NormalFormLimits& limits,
                     bool refining, bool& refinable) {
  try {
    Workspace workspace(instance.unknowns, instance.hypotheses, limits.effort, limits.steps, limits.stop, refining);
    workspace.any_functions = limits.any_functions;
    refinable = workspace.facts.refinable();
    for (const rules::Requirement& obligation : instance.obligations)
      if (workspace.facts.entails(obligation) != Answer::yes)
        return "the hypotheses are not shown to entail " + rules::text_of(obligation);
    for (std::size_t result = 0; result < instance.source.size(); ++result) {
      if (instance.source[result] == instance.target[result] || same_result(instance, result, box)) continue;
      return instance.source.size() == 1
                 ? std::string("the normal forms are not shown to be equal")
                 : fmt::format("the normal forms of result {} are not shown to be equal", result + 1);
    }
  } catch (const ProofLimit& limit) {
    return limit.what();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

NormalFormResult prove(const rules::Instance& instance, const std::vector<Interval>* box,
                       const NormalFormLimits& limits) {
  if (!instance.target_fits) return {NormalFormResult::unknown, "ranks do not fit"};
  bool refinable = false;
  std::string reason = obstacle(instance, box, limits, false, refinable);
  if (!reason.empty() && refinable && !limits.stop.stop_requested())
    reason = obstacle(instance, box, limits, true, refinable);
  return {reason.empty() ? NormalFormResult::proved : NormalFormResult::unknown, reason};
}

}  // namespace

NormalFormResult prove_by_normal_form(const rules::Instance& instance, const NormalFormLimits& limits) {
  return prove(instance, nullptr, limits);
}

NormalFormResult prove_within(const rules::Instance& instance, const std::vector<Interval>& box,
                              const NormalFormLimits& limits) {
  check(instance.source.size() == 1, "a box is about a single result");
  if (instance.target_fits)
    check(box.size() == instance.shape(instance.source[0]).size(), "a box has an interval for each axis");
  return prove(instance, &box, limits);
}

std::string normal_form_text(const rules::Instance& instance) {
  if (!instance.target_fits) return "ranks do not fit\n";
  Workspace workspace(instance.unknowns, instance.hypotheses, 1'000'000, 1'000'000, {});
  std::string result;
  for (std::size_t i = 0; i < instance.source.size(); ++i) {
    try {
      const Sides both = sides(instance, i);
      result += fmt::format("source {}: {}\ntarget {}: {}\n", i, text(both.source), i, text(both.target));
    } catch (const ProofLimit& limit) {
      result += fmt::format("result {}: {}\n", i, limit.what());
    }
  }
  return result;
}

}  // namespace taso::verifier
