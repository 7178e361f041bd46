// Which steps of a plan run side by side. Small kernels fill a small part of a GPU, and many networks have branches that do
// not need one another. Steps are put into lanes: those of a lane run one after the other, those of different lanes side by
// side, except where one is told to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/plan/kernel.h"

namespace taso::gpu {

/// A step as far as scheduling is concerned.
struct Task {
  cost::Cost cost = 0;               ///< by itself
  double share = 1;                  ///< of the GPU's multiprocessors, which it fills while it runs
  bool is_barrier = false;           ///< nothing runs beside it: the host does it
  std::vector<std::uint32_t> needs;  ///< tasks before it, in the list, that have to be done first
  double load = 1;                   ///< of what the GPU gets done at most, while it runs
  /// Soon after a task of the same kind it costs less, for its code is at hand.
  std::optional<std::uint32_t> kind = {};
  cost::Cost cost_again = 0;
};

struct Schedule {
  struct Step {
    std::uint32_t task = 0;
    std::uint32_t lane = 0;
    /// Steps of other lanes that it waits for, by task. What is certain anyway is left out: what those in turn wait for, and
    /// what is behind a barrier.
    std::vector<std::uint32_t> after;
  };
  std::vector<Step> steps;  ///< in an order in which they can be done one after the other
  std::uint32_t lanes = 1;
  cost::Cost predicted = 0;  ///< as `play` has it, by which schedules are made
  cost::Cost expected = 0;   ///< of those that `schedules` finds: as `expect` has it
};

/// Every task in the order of the list, in one lane.
Schedule one_after_the_other(const std::vector<Task>& tasks);

struct ScheduleOptions {
  std::uint32_t lanes = 4;
  cost::Cost least_beside = 0;  ///< what costs less does not leave the lane of what it needs
};
/// In lanes: whenever one is free, the task that most of the remaining work hangs on.
Schedule in_lanes(const std::vector<Task>& tasks, const ScheduleOptions& options);

/// The most promising ones with at most so many lanes, the one first that is expected to be the best; none if nothing is gained by
/// running tasks side by side.
std::vector<Schedule> schedules(const std::vector<Task>& tasks, std::uint32_t most_lanes);

/// How long a schedule takes at best. Steps that run side by side slow each other down where their shares are more than the whole
/// GPU; waiting for another lane takes time of its own.
cost::Cost play(const std::vector<Task>& tasks, const Schedule& schedule);

/// How long a schedule is expected to take, as was found on a GPU: by loads instead of shares, with what it takes to begin, and of
/// the gain a part is lost. Not what schedules are made by: a step in one lane too many costs little, one that waits for no reason
/// costs what it takes.
cost::Cost expect(const std::vector<Task>& tasks, const Schedule& schedule);

/// Which steps of a schedule are done before which others begin, whatever happens.
class StepOrder {
 public:
  StepOrder(const std::vector<Task>& tasks, const Schedule& schedule);
  bool precedes(std::uint32_t task, std::uint32_t other) const;

  /// When something is in use, by lanes: which steps of each lane use it last, and which are done before anybody does.
  class Use {
   public:
    bool is_before(const Use& other) const;

   private:
    friend class StepOrder;
    std::vector<std::uint32_t> last_, done_;
  };
  /// Nothing if there are no tasks.
  Use use_by(const std::vector<std::uint32_t>& tasks) const;

 private:
  std::uint32_t lanes_;
  struct Place {
    std::uint32_t lane = 0, number = 0;  ///< from 1 on, in its lane
  };
  std::vector<Place> places_;        // by task
  std::vector<std::uint32_t> done_;  // by task and lane: how many of the lane's steps are done before it begins
};

}  // namespace taso::gpu
