#include "search/program/needed_steps.h"

#include <algorithm>

namespace taso::search {
namespace {

/// Up to this fraction (1/1000) of the cost may be given up.
constexpr cost::Cost least_part = 1000;
/// How many of the steps that save something to try, those that save the least first: pricing a large graph takes a
/// tenth of a second.
constexpr std::size_t most_paying = 8;

class NeededSteps {
 public:
  NeededSteps(AppliedSteps& steps, Prices& prices, const NeededStepsOptions& options)
      : steps_(steps), prices_(prices), options_(options) {
    const cost::Cost now = steps.cost().charged();
    most_ = now + std::max(prices.kernels().noise(), now / least_part);
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = leave_out(idle());
      if (changed) continue;
      Some others = by_saving();
      if (others.size() > most_paying) others.resize(most_paying);
      for (const Match* one : others) changed = leave_out({one}) || changed;
    }
  }

 private:
  using Some = std::vector<const Match*>;
  static cost::Cost saved_by(const Applied& step) { return step.before.charged() - step.after.charged(); }

  /// The steps that save nothing by themselves.
  Some idle() const {
    Some some;
    for (const Applied& step : steps_.all())
      if (!is_worth(step.before, step.after, prices_.noise())) some.push_back(step.match.get());
    return some;
  }

  Some by_saving() const {
    std::vector<const Applied*> order;
    for (const Applied& step : steps_.all()) order.push_back(&step);
    std::stable_sort(order.begin(), order.end(),
                     [](const Applied* a, const Applied* b) { return saved_by(*a) < saved_by(*b); });
    Some some;
    for (const Applied* step : order) some.push_back(step->match.get());
    return some;
  }

  bool leave_out(Some some) {
    std::set<const Match*> there;
    for (const Applied& step : steps_.all()) there.insert(step.match.get());
    std::erase_if(some, [&](const Match* one) { return !there.contains(one); });
    if (some.empty() || options_.should_end()) return false;
    if (do_without({some.begin(), some.end()})) return true;
    if (some.size() == 1) return false;
    // Later steps first, because earlier ones may be needed by them.
    const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
    const bool later = leave_out({middle, some.end()}), earlier = leave_out({some.begin(), middle});
    return later || earlier;
  }

  bool do_without(const std::set<const Match*>& some) {
    const AppliedSteps::Way way = steps_.way_without(some);
    const GraphCost with = steps_.cost();
    std::size_t first = 0;
    while (!some.contains(steps_.all()[first].match.get())) ++first;
    work_ += 2 * (steps_.all().size() - first) + static_cast<std::size_t>(std::max<std::int64_t>(with.operators, 0));
    if (work_ > options_.most_work) return false;
    AppliedSteps::Back back = steps_.go(way, false);
    const GraphCost without = prices_.total();
    const bool is_needed = without.charged() > most_ || without.price > steps_.before().price ||
                           !prices_.allows(without) || is_worth(without, with, prices_.noise()) ||
                           !options_.is_as_good();
    steps_.go_back(std::move(back));
    if (!is_needed) steps_.go(way, true);
    return !is_needed;
  }

  AppliedSteps& steps_;
  Prices& prices_;
  const NeededStepsOptions& options_;
  cost::Cost most_ = 0;
  std::size_t work_ = 0;
};

}  // namespace

void keep_needed_steps(AppliedSteps& steps, Prices& prices, const NeededStepsOptions& options) {
  NeededSteps(steps, prices, options).run();
}

}  // namespace taso::search
