#include "search/program/applied_steps.h"

#include <iterator>
#include <utility>

#include "search/rewriting/rewrite.h"

namespace taso::search {

AppliedSteps::Way AppliedSteps::way_without(const std::set<const Match*>& some) const {
  Way way;
  for (const Applied& change : applied_)
    if (!some.contains(change.match.get())) way.push_back(change.match);
  return way;
}

AppliedSteps::Back AppliedSteps::go(const Way& way, bool is_priced) {
  Back back;
  while (back.common < way.size() && back.common < applied_.size() && applied_[back.common].match == way[back.common])
    ++back.common;
  for (std::size_t i = applied_.size(); i-- > back.common;) program_.undo(applied_[i].log);
  const auto first = applied_.begin() + static_cast<std::ptrdiff_t>(back.common);
  back.undone.assign(std::make_move_iterator(first), std::make_move_iterator(applied_.end()));
  applied_.erase(first, applied_.end());
  prices_.moved();
  for (std::size_t i = back.common; i < way.size(); ++i) {
    Applied change;
    change.match = way[i];
    if (!rewrite(program_, *change.match, change.log, &change.made)) continue;
    if (is_priced) {
      change.before = cost();
      change.after = change.before + prices_.difference(program_, change.log);
      prices_.accept();
    }
    applied_.push_back(std::move(change));
  }
  return back;
}

void AppliedSteps::go_back(Back back) {
  for (; applied_.size() > back.common; applied_.pop_back()) program_.undo(applied_.back().log);
  for (Applied& change : back.undone) {
    program_.redo(change.log);
    applied_.push_back(std::move(change));
  }
  prices_.moved();
}

void AppliedSteps::count_as_stored() {
  for (auto step = applied_.rbegin(); step != applied_.rend(); ++step) program_.undo(step->log);
  prices_.count_as_stored();
  GraphCost cost = before_;
  for (Applied& step : applied_) {
    GraphCost after = cost + prices_.redo_and_weigh(program_, step.log);
    after.price += step.after.price - step.before.price;
    after.kernels += step.after.kernels - step.before.kernels;
    after.operators += step.after.operators - step.before.operators;
    step.before = std::exchange(cost, after);
    step.after = cost;
  }
  prices_.moved();
}

}  // namespace taso::search
