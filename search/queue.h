// The queue of unexpanded graphs, in two orders: by cost, and by the number of steps since the last improvement.
//
// By cost alone, a search gets lost if many rewrites change nothing: all their combinations come before the one step
// that costs a little and leads on. So graphs are taken from both orders in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "search/prices.h"
#include "search/rewriting/matcher.h"

namespace taso::search {

/// An unexpanded state: a parent graph plus the match that would produce it.
struct Waiting {
  GraphCost cost;
  std::size_t steps = 0;     ///< since the last graph that was better than all before it
  bool is_late = false;      ///< delayed, because the rewrite was already followed in another graph
  std::uint32_t parent = 0;  ///< the state to rewrite
  ProgramHash change;        ///< the rewrite's change of the hash: equal for the same rewrite in another graph
  ProgramHash hash;
  std::shared_ptr<const Match> match;
};

class Queue {
 public:
  /// Beyond twice `longest`, the most expensive entries are dropped.
  explicit Queue(std::size_t longest) : longest_(longest) {}

  bool empty() const { return size_ == 0; }
  void push(Waiting waiting);
  /// The cheapest; among equal costs, one with the fewest steps.
  Waiting pop_cheapest() { return pop(true); }
  /// The cheapest of those with the fewest steps.
  Waiting pop_nearest() { return pop(false); }
  const GraphCost& lowest();

 private:
  Waiting pop(bool by_cost);
  bool is_taken(std::uint32_t id) const { return entries_[id]->match == nullptr; }
  void skip_taken(std::vector<std::uint32_t>& heap, bool by_cost);
  void shorten();
  auto order(bool by_cost) const {
    return [this, by_cost](std::uint32_t a, std::uint32_t b) {
      const Waiting &left = *entries_[a], &right = *entries_[b];
      if (!by_cost && left.steps != right.steps) return left.steps > right.steps;
      if (left.cost != right.cost) return left.cost > right.cost;
      return left.steps != right.steps ? left.steps > right.steps : a > b;
    };
  }

  std::size_t longest_;
  std::deque<std::unique_ptr<Waiting>> entries_;   // in the order they were found; entries already taken have no match
  std::vector<std::uint32_t> cheapest_, nearest_;  // heaps of entries
  std::size_t size_ = 0;
};

}  // namespace taso::search
