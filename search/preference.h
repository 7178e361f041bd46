// Decides which of two graphs is better. Every choice is made here, from a single step to the written model.
//
// Three questions are asked, each with the knowledge of its time:
//   1. Does a step pay? By the sum of the kernels' prices: GraphCost, is_worth().
//   2. Does a graph pay when it runs with concurrent kernels? By its run time: RunTime, RunPreference.
//   3. Is the written model kept? By the predicted cost of both models: ModelCost, decide().
// A later answer overrules earlier ones.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "cost/plan/objective.h"

namespace taso::search {

// --- 1. Steps ---

/// The cost of a graph in the search: prices of kernels and of larger weights. Of two graphs with the same cost, the
/// one with fewer operators is better.
struct GraphCost {
  cost::Cost price = 0;
  std::int64_t operators = 0;
  std::int64_t kernels = 0;  ///< kernels that cost something
  std::int64_t growth = 0;   ///< bytes of weights more than in the input graph, if they are counted
  cost::Cost charge = 0;     ///< the price of this growth

  /// The number by which graphs are compared.
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
  cost::Cost concurrent = 0;  ///< independent kernels run concurrently
  cost::Cost sequential = 0;  ///< one kernel at a time; repeated kernels may take less than their prices

  bool operator==(const RunTime&) const = default;
};

/// Compares the run times of graphs derived from a given one.
class RunPreference {
 public:
  RunPreference(const RunTime& given, cost::Cost noise) : given_(given), noise_(noise) {}

  /// The number by which run times are compared. A run takes the concurrent time, but its prediction is less certain
  /// than the sequential one: a gain of hundredths in the first does not justify a loss of tenths in the second.
  static cost::Cost weighed(const RunTime& time) { return time.concurrent + time.sequential / 5; }

  /// How much longer a graph takes than the given one, concurrently and sequentially. A graph that is slower in either
  /// way is useless, however fast it is in the other.
  cost::Cost excess(const RunTime& time) const;
  /// Whether `one` is better than `other` by more than `least_gain`. Graphs that are not slower than the given one come
  /// before all that are.
  bool is_better(const RunTime& one, const RunTime& other, cost::Cost least_gain) const;
  /// The order of graphs, best first.
  bool comes_before(const RunTime& one, const RunTime& other) const;
  /// Whether a graph with this many more (or fewer) operators than the given one pays.
  bool pays(const RunTime& time, std::int64_t more_operators) const;
  /// Whether a graph with fewer steps is as good as one that takes `full`.
  bool is_as_good(const RunTime& time, const RunTime& full) const;
  /// What a further step must save.
  cost::Cost least_gain(const RunTime& now) const;

 private:
  RunTime given_;
  cost::Cost noise_;
};

/// The concurrent time that a changed graph is assumed to take: the prediction, with a quarter of the gain from
/// concurrency taken off and 1 % added. Optimised graphs ran 0 to 9 % slower than predicted, the more so the more
/// concurrency gains, because fewer and larger kernels leave less room for others (runtime/README.md); and one graph
/// loaded twice differs by up to 1 %. Never more than the sequential time.
cost::Cost believed_concurrent(const RunTime& time);

/// The cost of a search's result and of the graph that it was given, by the prices of now.
struct ResultCost {
  cost::Cost before = 0, after = 0;  ///< sums of the kernels' prices
  RunTime run_before, run_after;     ///< empty if they are not known

  /// By how much the result is slower than the given graph, in sum or as it runs; 0 if it is not.
  cost::Cost excess() const;
  /// The number that results are compared by: the run time, if it is known.
  cost::Cost weighed() const;
};
/// Whether the result of an earlier search is preferred to that of the latest. A search that ran to its end had reasons
/// to reject what is only slightly better; one that was cut short had not.
bool is_preferred(const ResultCost& earlier, const ResultCost& latest, bool was_cut_short);

// --- 3. Models ---

/// The predicted cost of a whole model.
struct ModelCost {
  RunTime time;                  ///< the concurrent time is 0 if sizes are not known
  double objective = 0;          ///< the quantity to minimise: seconds, bytes or kernels
  std::size_t late_weights = 0;  ///< operators that compute weights at run time; prices assume they run ahead
  std::size_t nodes = 0;
};

/// Whether the optimised model is kept.
struct Decision {
  bool keeps = false;
  double gain = 0;  ///< the share of the cost that it saves
  std::string why;  ///< why it is not kept; empty if it is
};
/// `least_gain` is the share that it must save.
Decision decide(cost::Objective objective, const ModelCost& before, const ModelCost& after, double least_gain);

/// The default share that must be saved. Measured prices of one kernel repeat to 0.4 % in the median, and one plan
/// loaded twice to 1 % (cost/results/nvidia-h200.md); predicted prices are less certain. Bytes and kernels are exact.
double usual_least_gain(cost::Objective objective, bool is_measured);

}  // namespace taso::search
