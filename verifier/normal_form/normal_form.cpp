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
  Sum source, target;
};

Sides sides(const rules::Instance& instance, std::size_t result) {
  Facts& facts = Workspace::current().facts;
  Sides sides;
  Index index;
  for (const Dim& dim : instance.shape(instance.source[result])) {
    const Polynomial extent = facts.polynomial(dim);
    if (extent == Polynomial(1)) {
      index.emplace_back();
      continue;
    }
    sides.free.push_back(facts.fresh(extent, fmt::format("i{}", index.size())));
    index.push_back(Polynomial::variable(sides.free.back()));
  }
  sides.source = element(instance, instance.source[result], index);
  sides.target = element(instance, instance.target[result], index);
  return sides;
}

bool same_result(const rules::Instance& instance, std::size_t result) {
  auto [free, source, target] = sides(instance, result);
  Sum difference = source - target;
  // Indices that are divided with rounding (such as a channel by the channels of a group) become pairs.
  Constraints context;
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
std::string obstacle(const rules::Instance& instance, const NormalFormLimits& limits, bool refining, bool& refinable) {
  try {
    Workspace workspace(instance.unknowns, instance.hypotheses, limits.effort, limits.steps, limits.stop, refining);
    workspace.any_functions = limits.any_functions;
    refinable = workspace.facts.refinable();
    for (const rules::Requirement& obligation : instance.obligations)
      if (workspace.facts.entails(obligation) != Answer::yes)
        return "the hypotheses are not shown to entail " + rules::text_of(obligation);
    for (std::size_t result = 0; result < instance.source.size(); ++result) {
      if (instance.source[result] == instance.target[result] || same_result(instance, result)) continue;
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

}  // namespace

NormalFormResult prove_by_normal_form(const rules::Instance& instance, const NormalFormLimits& limits) {
  if (!instance.target_fits) return {NormalFormResult::unknown, "ranks do not fit"};
  bool refinable = false;
  std::string reason = obstacle(instance, limits, false, refinable);
  if (!reason.empty() && refinable && !limits.stop.stop_requested())
    reason = obstacle(instance, limits, true, refinable);
  return {reason.empty() ? NormalFormResult::proved : NormalFormResult::unknown, reason};
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
