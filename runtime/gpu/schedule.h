// Decides which steps of a plan run concurrently. Small kernels fill a small part of a GPU, and many networks have
// independent branches. Steps are assigned to lanes, which become streams: steps of one lane are sequential, steps of
// different lanes run concurrently unless one has to wait for the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/plan/kernel.h"

namespace taso::gpu {

/// A step as the scheduler sees it.
struct Task {
  cost::Cost cost = 0;               ///< when it runs alone
  double share = 1;                  ///< of the GPU's multiprocessors that it fills
  bool is_barrier = false;           ///< runs alone, because the host does it
  std::vector<std::uint32_t> needs;  ///< earlier tasks that have to finish first
  double load = 1;                   ///< the share of the GPU's throughput that it uses
  /// Tasks of the same kind share code. A task that soon follows one of its kind costs only `cost_again`, because the
  /// code is cached.
  std::optional<std::uint32_t> kind = {};
  cost::Cost cost_again = 0;
};

struct Schedule {
  struct Step {
    std::uint32_t task = 0;
    std::uint32_t lane = 0;
    /// Steps of other lanes to wait for, by task. Implied waits are left out: what those steps wait for, and everything
    /// before a barrier.
    std::vector<std::uint32_t> after;
  };
  std::vector<Step> steps;  ///< in a valid sequential order
  std::uint32_t lanes = 1;
  cost::Cost predicted = 0;  ///< by `play`, which is used to build schedules
  cost::Cost expected = 0;   ///< by `expect`; only set by `schedules`
};

/// All tasks in the order of the list, in one lane.
Schedule one_after_the_other(const std::vector<Task>& tasks);

struct ScheduleOptions {
  std::uint32_t lanes = 4;
  cost::Cost least_beside = 0;  ///< cheaper tasks stay in the lane of what they need
};
/// List scheduling: when a lane is free, it takes the task with the longest path to the end.
Schedule in_lanes(const std::vector<Task>& tasks, const ScheduleOptions& options);

/// The most promising schedules with at most `most_lanes` lanes, the best predicted one first. Empty if concurrency
/// gains nothing.
std::vector<Schedule> schedules(const std::vector<Task>& tasks, std::uint32_t most_lanes);

/// The best possible time of a schedule. Concurrent steps slow one another down if their shares exceed the whole GPU;
/// waiting for another lane takes additional time.
cost::Cost play(const std::vector<Task>& tasks, const Schedule& schedule);

/// The expected time of a schedule, fitted to measurements: uses loads instead of shares, adds start-up times, and
/// discounts the gain. Schedules are not built with it: an additional lane costs little, while a step that waits
/// without need costs its whole time.
cost::Cost expect(const std::vector<Task>& tasks, const Schedule& schedule);

/// When and where a task runs.
struct Span {
  std::uint32_t lane = 0;
  cost::Cost begin = 0, end = 0;
};
/// By task, as `expect` predicts it. The simulated times are stretched to the expected time, because that discounts the
/// gain of concurrent steps.
std::vector<Span> spans_of(const std::vector<Task>& tasks, const Schedule& schedule);

/// The order of steps that a schedule guarantees.
class StepOrder {
 public:
  StepOrder(const std::vector<Task>& tasks, const Schedule& schedule);
  bool precedes(std::uint32_t task, std::uint32_t other) const;

  /// When something is in use: per lane, the last step that uses it, and the number of steps that are done before its
  /// first use.
  class Use {
   public:
    bool is_before(const Use& other) const;

   private:
    friend class StepOrder;
    std::vector<std::uint32_t> last_, done_;
  };
  /// Without tasks, the use is before and after all others.
  Use use_by(const std::vector<std::uint32_t>& tasks) const;

 private:
  std::uint32_t lanes_;
  struct Place {
    std::uint32_t lane = 0, number = 0;  ///< position in the lane, from 1
  };
  std::vector<Place> places_;        // by task
  std::vector<std::uint32_t> done_;  // by task and lane: how many steps of that lane are done before it starts
};

}  // namespace taso::gpu
