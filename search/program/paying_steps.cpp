#include "search/program/paying_steps.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "search/program/needed_steps.h"

namespace taso::search {
namespace {

/// Attempts to limit the growth of weights before all steps are left out.
constexpr int most_rounds = 16;

class PayingSteps {
 public:
  PayingSteps(AppliedSteps& steps, const Program& program, Prices& prices, Extractor& extractor,
              const PayingStepsOptions& options)
      : steps_(steps), program_(program), prices_(prices), extractor_(extractor), options_(options) {}

  void run() {
    if (steps_.all().empty()) return;
    steps_.count_as_stored();
    RunTime time = options_.time_after;
    if (limit_growth()) time = time_if_it_pays();
    keep_needed(time);
    for (auto bad = steps_with_unusable_weights(); !bad.empty(); bad = steps_with_unusable_weights()) {
      steps_.go(steps_.way_without(bad), true);
      limit_growth();
      keep_needed(time_if_it_pays());
    }
    if (is_eaten_up()) steps_.go({}, true);
  }

 private:
  using Some = std::set<const Match*>;
  /// The steps that added a computation, for computations that are done ahead.
  using Makers = std::unordered_map<ComputationId, std::vector<const Match*>>;

  /// Leaves out steps that enlarge weights, those that save the least per byte first, until the growth is within the
  /// limit. Returns whether it left out any.
  bool limit_growth() {
    const std::size_t found = steps_.all().size();
    for (int round = 0; !prices_.allows(steps_.cost()); ++round)
      steps_.go(round < most_rounds ? steps_.way_without(most_growing()) : AppliedSteps::Way(), true);
    return steps_.all().size() < found;
  }

  /// Never empty: if no single step enlarges the weights, their growth is within the limit.
  Some most_growing() const {
    std::vector<const Applied*> order;
    for (const Applied& step : steps_.all())
      if (growth_of(step) > 0) order.push_back(&step);
    const auto saved_for_byte = [](const Applied& step) {
      return static_cast<double>(step.before.price - step.after.price) / static_cast<double>(growth_of(step));
    };
    // Later steps first, because earlier ones may be needed by them.
    std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](const Applied* a, const Applied* b) { return saved_for_byte(*a) < saved_for_byte(*b); });
    Some some;
    std::int64_t too_much = prices_.excess(steps_.cost());
    for (auto one = order.begin(); one != order.end() && too_much > 0; ++one) {
      some.insert((*one)->match.get());
      too_much -= growth_of(**one);
    }
    return some;
  }

  RunPreference preference() const { return {options_.time_before, prices_.noise()}; }
  static std::int64_t growth_of(const Applied& step) { return step.after.growth - step.before.growth; }

  /// Leaves out all steps if the rest does not pay. Returns the run time.
  RunTime time_if_it_pays() {
    RunTime time = options_.time_before;
    bool pays = is_worth(steps_.before(), steps_.cost(), prices_.noise());
    if (pays && options_.time_now) {
      time = options_.time_now();
      pays = preference().excess(time) == 0;
    }
    if (!pays) steps_.go({}, true);
    return time;
  }

  /// Whether larger weights cost more than the saving.
  bool is_eaten_up() const {
    const cost::Cost charge = steps_.cost().charge;
    if (charge <= 0) return false;
    if (!options_.time_now) return steps_.before().price - steps_.cost().price <= charge;
    return RunPreference::weighed(options_.time_before) - RunPreference::weighed(options_.time_now()) <=
           RunPreference::weighed({charge, charge});
  }

  void keep_needed(const RunTime& now) {
    NeededStepsOptions needed;
    needed.should_end = options_.should_end;
    if (options_.time_now)
      needed.is_as_good = [this, now] { return preference().is_as_good(options_.time_now(), now); };
    keep_needed_steps(steps_, prices_, needed);
  }

  /// The steps that made an unusable weight from usable ones.
  Some steps_with_unusable_weights() {
    Some bad;
    if (!options_.is_usable || steps_.all().empty()) return bad;
    const Store& store = program_.store();
    Makers makers;
    for (const Applied& step : steps_.all())
      for (const Change& change : step.log)
        if (change.kind == Change::Kind::added && store[change.computation].is_foldable)
          makers[change.computation].push_back(step.match.get());
    if (makers.empty()) return bad;
    extractor_.graph();
    for (const ComputationId id : program_.computations()) {
      if (!store[id].is_foldable || store[id].op == nullptr) continue;
      for (const ValueId result : program_.results(id)) {
        if (result == no_value || !prices_.is_stored(result)) continue;
        for (const ComputationId cause : causes_of(result, makers))
          bad.insert(makers.at(cause).begin(), makers.at(cause).end());
      }
    }
    return bad;
  }

  /// The computations, added by steps, that contribute to a weight and whose result is unusable although all operands
  /// are usable.
  std::vector<ComputationId> causes_of(ValueId weight, const Makers& makers) const {
    std::vector<ComputationId> causes;
    if (!is_made_by(weight, makers) || options_.is_usable(extractor_.value_of(weight))) return causes;
    std::unordered_set<ValueId> seen{weight};
    for (std::vector<ValueId> stack{weight}; !stack.empty();) {
      const ComputationId here = program_.definition(stack.back()).computation;
      stack.pop_back();
      bool is_cause = true;
      for (const ValueId operand : program_.store()[here].operands) {
        if (operand == no_value || !is_computed(operand) || options_.is_usable(extractor_.value_of(operand))) continue;
        is_cause = false;
        if (seen.insert(operand).second) stack.push_back(operand);
      }
      if (is_cause && makers.contains(here)) causes.push_back(here);
    }
    return causes;
  }

  bool is_computed(ValueId weight) const {
    return program_.store()[program_.definition(weight).computation].op != nullptr;
  }

  /// Whether a step added one of the computations that contribute to a weight.
  bool is_made_by(ValueId weight, const Makers& makers) const {
    const ComputationId last = program_.definition(weight).computation;
    std::unordered_set<ComputationId> seen{last};
    for (std::vector<ComputationId> stack{last}; !stack.empty();) {
      const ComputationId here = stack.back();
      stack.pop_back();
      if (makers.contains(here)) return true;
      for (const ValueId operand : program_.store()[here].operands)
        if (operand != no_value)
          if (const ComputationId from = program_.definition(operand).computation; seen.insert(from).second)
            stack.push_back(from);
    }
    return false;
  }

  AppliedSteps& steps_;
  const Program& program_;
  Prices& prices_;
  Extractor& extractor_;
  const PayingStepsOptions& options_;
};

}  // namespace

void keep_paying_steps(AppliedSteps& steps, const Program& program, Prices& prices, Extractor& extractor,
                       const PayingStepsOptions& options) {
  PayingSteps(steps, program, prices, extractor, options).run();
}

}  // namespace taso::search
