// Prices an operator and what rules make of it, in both layouts, with measured prices where there is a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost/plan/plan.h"
#include "runtime/pricing/pricing.h"
#include "tools/sweep/results.h"

namespace taso::sweep {

/// A graph as it would be inside a network: in NHWC, images come in and go out in this layout.
class InNetwork : public cost::WholeGraph {
 public:
  InNetwork(const Graph& graph, cost::Layout layout, bool has_images)
      : WholeGraph(graph, {}, layout), has_images_(has_images) {}
  bool is_image_on_border(cost::PlanValue value) const override { return has_images_ && !is_weight(value); }
  bool is_output_on_border(cost::PlanValue) const override { return has_images_; }
  bool has_images() const { return has_images_; }

 private:
  bool has_images_;
};

struct KernelFigures {
  enum class Part { main, correction, moving };
  Part part = Part::main;
  std::string text;  ///< "convolution: conv [1, 64, 56, 56]"
  double microseconds = 0;
  bool is_measured = false;
};

struct PlanFigures {
  cost::Layout layout = cost::Layout::channels_first;
  cost::Cost total = 0;
  cost::Cost measured = 0;  ///< the part that was measured
  std::vector<KernelFigures> kernels;
  pricing::MissingCalls missing;

  /// The share of the time. A kernel that computes windows or products is a correction if it has less than half the
  /// work of the largest; what neither does only moves data.
  double share(KernelFigures::Part part) const;
};

PlanFigures figures_of(const InNetwork& view, const pricing::Pricing& pricing);

/// A graph in one layout.
struct Trial {
  std::unique_ptr<InNetwork> view;
  PlanFigures figures;
  bool is_measured() const { return figures.missing.empty(); }
};

/// An operator with its results and all their trials.
struct Contest {
  SweepOperator source;
  Graph graph;
  std::vector<SweepResult> results;
  std::vector<Trial> source_trials, trials;  ///< trials[2 * i] and trials[2 * i + 1] are of results[i]
  std::size_t checked = 0;                   ///< results compared with the source, and equal

  /// The faster layout; of measured and unmeasured ones, the measured one.
  const Trial& best_source() const;
  /// The fastest trial among the measured ones, or among all if nothing is measured; null if there is none.
  const Trial* best_result(bool only_measured) const;
  const Trial* best_of(std::size_t result, bool only_measured) const;
  void drop(std::size_t result);
  std::size_t result_of(const Trial& trial) const {
    return static_cast<std::size_t>(&trial - trials.data()) / cost::layouts.size();
  }
};

Contest contest_of(const SweepOperator& one, const std::vector<RuleGroup>& groups, const ResultLimits& limits,
                   pricing::Pricing& pricing);

/// Measures the kernels of the contests that have results: the source first, then the result with the best price, and
/// so on. A result whose measured kernels take longer than the source is left, and so is a result, or a layout of the
/// source, that is predicted to take more than `slack` times as long as the fastest so far. Works through the contests
/// in a random order, some at a time, so that those finished are a fair sample. Returns false if the time was over.
bool measure(std::vector<Contest>& contests, pricing::Pricing& pricing, double slack);

}  // namespace taso::sweep
