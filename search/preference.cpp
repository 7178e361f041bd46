#include "search/preference.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::search {
namespace {

/// A further step must save at least 1/1000: schedules differ by as much without a reason.
constexpr cost::Cost part_for_step = 1000;
/// More operators must save at least 1/100: one graph loaded twice on a GPU differs by as much.
constexpr cost::Cost part_for_operators = 100;

/// The number by which models are compared, as RunPreference::weighed() compares graphs.
double weighed(cost::Objective objective, const ModelCost& cost) {
  if (objective != cost::Objective::time || cost.time.concurrent <= 0) return cost.objective;
  return static_cast<double>(cost.time.concurrent) + static_cast<double>(cost.time.sequential) / 5;
}

/// Whether the written model is better than the one before, even slightly. The search adds up prices; the written model
/// may differ, and peak memory is not a sum.
bool is_better(cost::Objective objective, const ModelCost& before, const ModelCost& after) {
  if (after.late_weights > before.late_weights) return false;
  if (objective == cost::Objective::memory && before.objective == after.objective)
    return after.time.sequential < before.time.sequential;
  if (objective == cost::Objective::time && after.time != before.time) {
    if (after.time.concurrent > 0 && believed_concurrent(after.time) > before.time.concurrent) return false;
    if (after.time.concurrent < before.time.concurrent) return after.time.sequential <= before.time.sequential;
  }
  // A model without fewer nodes must save something: a different form at the same cost is not a gain.
  return after.nodes < before.nodes ? after.objective <= before.objective : after.objective < before.objective;
}

}  // namespace

bool is_worth(const GraphCost& before, const GraphCost& after, cost::Cost noise) {
  const cost::Cost saved = std::min(before.price - after.price, before.charged() - after.charged());
  return saved > noise || (saved >= 0 && after.operators < before.operators);
}

cost::Cost believed_concurrent(const RunTime& time) {
  return std::min(time.sequential, time.concurrent + (time.sequential - time.concurrent) / 4 + time.concurrent / 100);
}

cost::Cost RunPreference::excess(const RunTime& time) const {
  if (time == given_) return 0;
  return std::max<cost::Cost>(believed_concurrent(time) - given_.concurrent, 0) +
         std::max<cost::Cost>(time.sequential - given_.sequential, 0);
}

bool RunPreference::is_better(const RunTime& one, const RunTime& other, cost::Cost least_gain) const {
  const cost::Cost its = excess(one), others = excess(other);
  if (its == 0 && others == 0) return weighed(one) < weighed(other) - least_gain;
  return its == 0 || its < others - least_gain;
}

bool RunPreference::comes_before(const RunTime& one, const RunTime& other) const {
  return std::pair(excess(one), weighed(one)) < std::pair(excess(other), weighed(other));
}

bool RunPreference::pays(const RunTime& time, std::int64_t more_operators) const {
  const cost::Cost before = weighed(given_);
  return excess(time) == 0 && (more_operators <= 0 || before - weighed(time) >= before / part_for_operators);
}

bool RunPreference::is_as_good(const RunTime& time, const RunTime& full) const {
  return excess(time) == 0 && weighed(time) <= weighed(full) + least_gain(full);
}

cost::Cost RunPreference::least_gain(const RunTime& now) const {
  return std::max(noise_, weighed(now) / part_for_step);
}

cost::Cost ResultCost::excess() const {
  return std::max<cost::Cost>(after - before, 0) + RunPreference(run_before, 0).excess(run_after);
}

cost::Cost ResultCost::weighed() const { return run_before == RunTime() ? after : RunPreference::weighed(run_after); }

bool is_preferred(const ResultCost& earlier, const ResultCost& latest, bool was_cut_short) {
  if (earlier.excess() != latest.excess()) return earlier.excess() < latest.excess();
  const cost::Cost least_gain = was_cut_short ? 0 : latest.weighed() / part_for_step;
  return earlier.weighed() < latest.weighed() - least_gain;
}

Decision decide(cost::Objective objective, const ModelCost& before, const ModelCost& after, double least_gain) {
  Decision decision;
  const double cost = weighed(objective, before);
  decision.gain = cost > 0 ? 1 - weighed(objective, after) / cost : 0;
  if (!is_better(objective, before, after))
    decision.why = "the written model would not be better";
  else if (decision.gain < least_gain)
    decision.why = fmt::format("the best saves {:.2f} %, and --min-gain is {:.3g} %",
                               100 * std::max(decision.gain, 0.0), 100 * least_gain);
  else
    decision.keeps = true;
  return decision;
}

double usual_least_gain(cost::Objective objective, bool is_measured) {
  if (objective != cost::Objective::time) return 0;
  return is_measured ? 0.01 : 0.02;
}

}  // namespace taso::search
