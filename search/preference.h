// Which of two graphs is better, and why. Every choice is made here, from a single step to the model that is written.
//
// Three questions are asked, each of what is known at the time:
//   1. Does a step pay? By the sum of the kernels' prices: GraphCost, is_worth().
//   2. Does a graph pay as it runs, with independent kernels at the same time? By its run time: RunTime, RunPreference.
//   3. Is the model kept that was written from it? By what both models are predicted to take: ModelCost, decide().
// An answer to a later question overrules earlier ones.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "cost/plan/objective.h"

namespace taso::search {

// --- 1. Steps ---

/// The cost of a graph in the search: prices of kernels and of larger weights. Of two graphs with the same cost, the one
/// with fewer operators is better.
struct GraphCost {
  cost::Cost price = 0;
  std::int64_t operators = 0;
  std::int64_t kernels = 0;  ///< that cost something
  std::int64_t growth = 0;   ///< bytes of weights more than in the graph that was given, where they are counted
  cost::Cost charge = 0;     ///< what these cost

  /// What graphs are compared by.
  cost::Cost charged() const { return price + charge; }
  bool operator==(const GraphCost&) const = default;
  std::strong_ordering operator<=>(const GraphCost& other) const {
    return std::tuple(charged(), operators, price, growth) <=>
           std::tuple(other.charged(), other.operators, other.price, other.growth);
  }
  GraphCost& operator+=(const GraphCost& other) {
    price += other.price;
    operators += other.operators;
    kernels += other.kernels;
    growth += other.growth;
    charge += other.charge;
    return *this;
  }
  friend GraphCost operator+(GraphCost a, const GraphCost& b) { return a += b; }
  friend GraphCost operator-(const GraphCost& a, const GraphCost& b) {
    return {a.price - b.price, a.operators - b.operators, a.kernels - b.kernels, a.growth - b.growth,
            a.charge - b.charge};
  }
};

/// Whether a change pays: it saves more than the noise of the prices, or it saves operators and costs nothing. Smaller
/// weights do not make up for lost time.
bool is_worth(const GraphCost& before, const GraphCost& after, cost::Cost noise);

// --- 2. Runs ---

/// The predicted run time of a graph.
struct RunTime {
  cost::Cost concurrent = 0;  ///< independent kernels run at the same time
  cost::Cost sequential = 0;  ///< one kernel at a time; kernels that repeat may take less than their prices

  bool operator==(const RunTime&) const = default;
};

/// Compares the run times of graphs that were made from a given one.
class RunPreference {
 public:
  RunPreference(const RunTime& given, cost::Cost noise) : given_(given), noise_(noise) {}

  /// The number that run times are compared by. The concurrent time is what a run takes, but it is predicted less surely
  /// than the sequential one: a gain of hundredths in the first does not justify a loss of tenths in the second.
  static cost::Cost weighed(const RunTime& time) { return time.concurrent + time.sequential / 5; }

  /// By how much a graph takes longer than the given one, concurrently and sequentially. A graph that is slower in
  /// either way is of no use, however fast it is in the other.
  cost::Cost excess(const RunTime& time) const;
  /// Whether `one` is better than `other` by more than `least_gain`. Graphs that are not slower than the given one come
  /// before all that are.
  bool is_better(const RunTime& one, const RunTime& other, cost::Cost least_gain) const;
  /// The order of graphs, best first.
  bool comes_before(const RunTime& one, const RunTime& other) const;
  /// Whether a graph with so many operators more (or fewer) than the given one pays.
  bool pays(const RunTime& time, std::int64_t more_operators) const;
  /// Whether a graph with fewer steps is as good as one that takes `full`.
  bool is_as_good(const RunTime& time, const RunTime& full) const;
  /// What a further step has to save.
  cost::Cost least_gain(const RunTime& now) const;

 private:
  RunTime given_;
  cost::Cost noise_;
};

/// The concurrent time that a changed graph is believed to take: a quarter of the predicted gain of concurrency is taken
/// off, and 1 % is added. Optimised graphs ran 0 to 9 % slower than predicted, the more so the more concurrency brings,
/// because fewer and larger kernels leave less room for others (cost/README.md); and one graph that is loaded twice
/// differs by up to 1 %. Never more than the sequential time.
cost::Cost believed_concurrent(const RunTime& time);

// --- 3. Models ---

/// What a whole model is predicted to take.
struct ModelCost {
  RunTime time;                  ///< the concurrent time is 0 where sizes are not known
  double objective = 0;          ///< what is minimised: seconds, bytes or kernels
  std::size_t late_weights = 0;  ///< operators that compute weights at run time, which the prices take to be done ahead
  std::size_t nodes = 0;
};

/// Whether the optimised model is kept.
struct Decision {
  bool keeps = false;
  double gain = 0;  ///< the share of the cost that it saves
  std::string why;  ///< it is not kept; empty if it is
};
/// `least_gain` is the share that it has to save.
Decision decide(cost::Objective objective, const ModelCost& before, const ModelCost& after, double least_gain);

/// The share that has to be saved unless the user says otherwise. Measured prices of one kernel repeat to 0.4 % in the
/// median, and one plan that is loaded twice to 1 % (cost/README.md); predicted prices are less sure. Bytes and kernels
/// are counted, without noise.
double usual_least_gain(cost::Objective objective, bool is_measured);

}  // namespace taso::search
