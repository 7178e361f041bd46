#include "runtime/gpu/schedule.h"

#include <algorithm>
#include <limits>
#include <set>

#include "cost/pricing/h200.h"
#include "ops/core/error.h"

namespace taso::gpu {
namespace {

/// A gain below one part in this many is not worth another lane.
constexpr cost::Cost least_gain = 200;
/// With more tasks than any network has, fewer schedules are tried.
constexpr std::size_t many_tasks = 20'000;
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

/// The model of concurrent steps. Times are in picoseconds.
struct Manner {
  double launch;       ///< the launch part of a step's price, when others can use the GPU; at most half of it
  double crossing;     ///< additional time of a wait for another lane
  double held_up;      ///< additional time of such a step to wait for its predecessor in its lane
  double begins;       ///< least time between the starts of two steps
  double Task::*part;  ///< the share of the GPU that a step uses otherwise
};
constexpr Manner at_best{1e6, 1e6, 0, 0, &Task::share};
/// Loads cover the whole time of a step.
constexpr Manner as_found{0, cost::h200::crossing * 1e3, cost::h200::held_up * 1e3, cost::h200::between_begins * 1e3,
                          &Task::load};

/// The code that is cached: that of the last two kinds of tasks started, in any lanes. Among one to 24 kinds, two fits
/// the measured networks best.
class CodeAtHand {
 public:
  /// The cost of a task that starts now.
  cost::Cost cost_of(const Task& task) {
    if (!task.kind) return task.cost;
    const auto known = std::find(kinds_.begin(), kinds_.end(), *task.kind);
    const bool is_at_hand = known != kinds_.end();
    if (is_at_hand)
      kinds_.erase(known);
    else if (kinds_.size() == most)
      kinds_.erase(kinds_.begin());
    kinds_.push_back(*task.kind);
    return is_at_hand ? task.cost_again : task.cost;
  }

 private:
  static constexpr std::size_t most = 2;
  std::vector<std::uint32_t> kinds_;  // most recent last
};

/// Simulates concurrent kernels, which share the capacity of the GPU.
class Machine {
 public:
  explicit Machine(const Manner& manner) : manner_(manner) {}
  double now() const { return now_; }
  bool is_idle() const { return running_.empty(); }
  bool has_room() const {
    double shares = 0;
    for (const Running& one : running_) shares += one.share;
    return shares < 1;
  }

  /// Returns the moment at which the task starts.
  double start(std::uint32_t task, const Task& what, double delay) {
    const auto cost = static_cast<double>(code_.cost_of(what));
    const double launch = std::min(manner_.launch, cost / 2);
    if (manner_.begins > 0) delay = begin_at(now_ + delay) - now_;
    running_.push_back({task, delay + launch, cost - launch, std::clamp(what.*manner_.part, 0.0, 1.0)});
    return now_ + delay;
  }

  /// Advances until at least one task finishes, and returns the finished tasks.
  std::vector<std::uint32_t> advance() {
    std::vector<std::uint32_t> done;
    while (done.empty() && !running_.empty()) {
      double shares = 0;
      for (const Running& one : running_)
        if (one.delay <= 0) shares += one.share;
      const double slowness = std::max(1.0, shares);
      double next = std::numeric_limits<double>::max();
      for (const Running& one : running_) next = std::min(next, one.delay > 0 ? one.delay : one.work * slowness);
      now_ += next;
      std::vector<Running> left;
      for (Running& one : running_) {
        // The task that determined the step reaches its end exactly, despite rounding.
        if (one.delay > 0) {
          one.delay = one.delay <= next ? 0 : one.delay - next;
        } else if (one.work * slowness <= next) {
          done.push_back(one.task);
          continue;
        } else {
          one.work -= next / slowness;
        }
        left.push_back(one);
      }
      running_ = std::move(left);
    }
    return done;
  }

 private:
  struct Running {
    std::uint32_t task = 0;
    double delay = 0, work = 0, share = 0;
  };
  /// The first moment from `moment` on with enough distance from the starts of other tasks.
  double begin_at(double moment) {
    std::erase_if(begins_, [&](double other) { return other <= now_ - manner_.begins; });
    const auto place = std::lower_bound(begins_.begin(), begins_.end(), moment - manner_.begins);
    for (auto other = place; other != begins_.end() && *other < moment + manner_.begins; ++other)
      moment = std::max(moment, *other + manner_.begins);
    begins_.insert(std::upper_bound(begins_.begin(), begins_.end(), moment), moment);
    return moment;
  }

  const Manner& manner_;
  CodeAtHand code_;
  std::vector<Running> running_;
  std::vector<double> begins_;  // of recent and future starts, sorted
  double now_ = 0;
};

using Clock = std::vector<std::uint32_t>;  // by lane: the number of its finished steps

void reach(Clock& clock, const Clock& other) {
  for (std::size_t lane = 0; lane < clock.size(); ++lane) clock[lane] = std::max(clock[lane], other[lane]);
}

/// Assigns steps to lanes, and tracks what is guaranteed to be done at each point.
class Lanes {
 public:
  Lanes(std::size_t tasks, std::uint32_t lanes)
      : clocks_(lanes, Clock(lanes, 0)), places_(tasks), finished_(tasks), last_(lanes, nobody) {}

  std::uint32_t lane_of(std::uint32_t task) const { return places_[task].lane; }
  /// The last step of a lane; `nobody` if it is empty.
  std::uint32_t last(std::uint32_t lane) const { return last_[lane]; }

  /// What a task would have to wait for in a lane, without implied waits.
  std::vector<std::uint32_t> awaited(const Task& task, std::uint32_t lane) const {
    std::vector<std::uint32_t> list;
    for (const std::uint32_t need : task.needs)
      if (clocks_[lane][places_[need].lane] < places_[need].number) list.push_back(need);
    std::vector<std::uint32_t> reduced;
    for (const std::uint32_t need : list) {
      const bool is_implied = std::any_of(list.begin(), list.end(), [&](std::uint32_t other) {
        return other != need && finished_[other][places_[need].lane] >= places_[need].number;
      });
      if (!is_implied) reduced.push_back(need);
    }
    return reduced;
  }

  Schedule::Step add(std::uint32_t index, const Task& task, std::uint32_t lane) {
    Schedule::Step step{index, lane, awaited(task, lane)};
    Clock& clock = clocks_[lane];
    for (const std::uint32_t other : step.after) reach(clock, finished_[other]);
    places_[index] = {lane, ++clock[lane]};
    finished_[index] = clock;
    last_[lane] = index;
    return step;
  }

  /// Synchronises all lanes.
  void meet() {
    Clock all = clocks_[0];
    for (const Clock& clock : clocks_) reach(all, clock);
    for (Clock& clock : clocks_) clock = all;
  }

 private:
  struct Place {
    std::uint32_t lane = 0, number = 0;
  };
  std::vector<Clock> clocks_;  // by lane: what is done when its next step starts
  std::vector<Place> places_;
  std::vector<Clock> finished_;  // by task: what is done when it finishes
  std::vector<std::uint32_t> last_;
};

/// For each task, the length of the longest path from it to the end, including itself.
std::vector<cost::Cost> ways_to_the_end(const std::vector<Task>& tasks) {
  std::vector<cost::Cost> ways(tasks.size(), 0);
  for (std::size_t i = tasks.size(); i-- > 0;) {
    ways[i] += tasks[i].cost;
    for (const std::uint32_t need : tasks[i].needs) ways[need] = std::max(ways[need], ways[i]);
  }
  return ways;
}

/// The time with unlimited lanes: the longest path, with each task at its cheapest.
cost::Cost least_time(const std::vector<Task>& tasks) {
  std::vector<cost::Cost> done(tasks.size(), 0);
  cost::Cost longest = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const std::uint32_t need : tasks[i].needs) done[i] = std::max(done[i], done[need]);
    done[i] += tasks[i].kind ? std::min(tasks[i].cost, tasks[i].cost_again) : tasks[i].cost;
    longest = std::max(longest, done[i]);
  }
  return longest;
}

class ListScheduler {
 public:
  ListScheduler(const std::vector<Task>& tasks, const ScheduleOptions& options)
      : tasks_(tasks),
        options_(options),
        ways_(ways_to_the_end(tasks)),
        lanes_(tasks.size(), options.lanes),
        missing_(tasks.size(), 0),
        users_(tasks.size()),
        running_(options.lanes, nobody),
        finished_(tasks.size(), 0) {
    schedule_.lanes = options.lanes;
    for (std::uint32_t i = 0; i < tasks.size(); ++i)
      for (const std::uint32_t need : tasks[i].needs) users_[need].push_back(i);
  }

  Schedule make() {
    for (std::uint32_t begin = 0; begin < tasks_.size();) {
      std::uint32_t end = begin;
      while (end < tasks_.size() && !tasks_[end].is_barrier) ++end;
      if (end > begin) schedule_part(begin, end);
      lanes_.meet();
      if (end < tasks_.size()) {
        Schedule::Step barrier = lanes_.add(end, tasks_[end], 0);
        check(barrier.after.empty(), "a barrier waits for everything anyway");
        schedule_.steps.push_back(std::move(barrier));
        lanes_.meet();
      }
      begin = end + 1;
    }
    drop_unused_lanes();
    schedule_.predicted = play(tasks_, schedule_);
    return std::move(schedule_);
  }

 private:
  using Ready = std::pair<cost::Cost, std::uint32_t>;  // the path length is negated, so that the longest comes first

  void schedule_part(std::uint32_t begin, std::uint32_t end) {
    ready_.clear();
    for (std::uint32_t i = begin; i < end; ++i) {
      missing_[i] = static_cast<std::size_t>(std::count_if(tasks_[i].needs.begin(), tasks_[i].needs.end(),
                                                           [&](std::uint32_t need) { return need >= begin; }));
      if (missing_[i] == 0) add_ready(i);
    }
    for (std::uint32_t left = end - begin; left > 0;) {
      while (start_one()) {
      }
      const std::vector<std::uint32_t> done = machine_.advance();
      check(!done.empty(), "a task runs while tasks are left");
      for (const std::uint32_t task : done) {
        --left;
        finished_[task] = machine_.now();
        running_[lanes_.lane_of(task)] = nobody;
        for (const std::uint32_t user : users_[task])
          if (user < end && --missing_[user] == 0) add_ready(user);
      }
    }
  }

  /// The set is sorted by the longest path to the end first.
  void add_ready(std::uint32_t task) { ready_.emplace(-ways_[task], task); }
  /// Limits the search to the first 32, because there may be very many.
  std::set<Ready>::const_iterator looked_at() const {
    return std::next(ready_.begin(), static_cast<std::ptrdiff_t>(std::min<std::size_t>(ready_.size(), 32)));
  }

  /// The lane that computed a task's latest operand, where the task can follow without a wait; `nobody` if another step
  /// has followed there already.
  std::uint32_t home(std::uint32_t task) const {
    std::uint32_t latest = nobody;
    for (const std::uint32_t need : tasks_[task].needs)
      if (latest == nobody || finished_[need] > finished_[latest]) latest = need;
    if (latest == nobody) return 0;
    const std::uint32_t lane = lanes_.lane_of(latest);
    return lanes_.last(lane) == latest ? lane : nobody;
  }

  bool start_one() {
    if (!machine_.has_room() || std::find(running_.begin(), running_.end(), nobody) == running_.end()) return false;
    const auto end = looked_at();
    for (auto chosen = ready_.cbegin(); chosen != end; ++chosen) {
      const std::uint32_t task = chosen->second, lane = lane_for(task);
      if (lane == nobody) continue;
      Schedule::Step step = lanes_.add(task, tasks_[task], lane);
      double delay = 0;
      for (const std::uint32_t other : step.after)
        delay = std::max(delay, finished_[other] + at_best.crossing - machine_.now());
      machine_.start(task, tasks_[task], delay);
      running_[lane] = task;
      schedule_.steps.push_back(std::move(step));
      ready_.erase(chosen);
      return true;
    }
    return false;
  }

  std::uint32_t lane_for(std::uint32_t task) const {
    const std::uint32_t own = home(task);
    if (own != nobody && running_[own] == nobody) return own;
    const bool is_small = tasks_[task].cost < options_.least_beside && !machine_.is_idle();
    std::uint32_t best = nobody, least = nobody;
    for (std::uint32_t lane = 0; lane < options_.lanes; ++lane) {
      if (running_[lane] != nobody) continue;
      const auto waits = static_cast<std::uint32_t>(lanes_.awaited(tasks_[task], lane).size());
      if (is_small && waits > 0) continue;
      const bool is_claimed =
          std::any_of(ready_.begin(), looked_at(), [&](const Ready& other) { return home(other.second) == lane; });
      const std::uint32_t dislike = waits + (is_claimed ? 2 : 0);
      if (best == nobody || dislike < least) {
        best = lane;
        least = dislike;
      }
    }
    return best;
  }

  void drop_unused_lanes() {
    std::vector<std::uint32_t> names(options_.lanes, nobody);
    schedule_.lanes = 0;
    for (Schedule::Step& step : schedule_.steps) {
      if (names[step.lane] == nobody) names[step.lane] = schedule_.lanes++;
      step.lane = names[step.lane];
    }
    schedule_.lanes = std::max<std::uint32_t>(schedule_.lanes, 1);
  }

  const std::vector<Task>& tasks_;
  const ScheduleOptions& options_;
  std::vector<cost::Cost> ways_;
  Machine machine_{at_best};
  Lanes lanes_;
  std::vector<std::size_t> missing_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::set<Ready> ready_;
  std::vector<std::uint32_t> running_;  // by lane
  std::vector<double> finished_;
  Schedule schedule_;
};

/// The start and the end of each task, in picoseconds.
struct Moments {
  std::vector<double> begin, end;
};

cost::Cost simulate(const std::vector<Task>& tasks, const Schedule& schedule, const Manner& manner,
                    Moments* moments = nullptr) {
  Machine machine(manner);
  std::vector<double> finished(tasks.size(), -1);
  std::vector<std::vector<const Schedule::Step*>> queues(schedule.lanes);
  std::vector<std::size_t> at(schedule.lanes, 0);
  std::vector<bool> is_busy(schedule.lanes, false);
  std::vector<std::uint32_t> lane_of(tasks.size(), 0);
  std::vector<double> free_since(schedule.lanes, 0);
  if (moments != nullptr) moments->begin.assign(tasks.size(), 0);

  const auto start = [&](std::uint32_t lane) {
    if (is_busy[lane] || at[lane] == queues[lane].size()) return;
    const Schedule::Step& step = *queues[lane][at[lane]];
    double delay = 0;
    if (!step.after.empty() && at[lane] > 0) delay = std::max(delay, free_since[lane] + manner.held_up - machine.now());
    for (const std::uint32_t other : step.after) {
      if (finished[other] < 0) return;
      delay = std::max(delay, finished[other] + manner.crossing - machine.now());
    }
    const double begin = machine.start(step.task, tasks[step.task], delay);
    if (moments != nullptr) moments->begin[step.task] = begin;
    is_busy[lane] = true;
    ++at[lane];
  };
  const auto finish_all = [&] {
    for (;;) {
      for (std::uint32_t lane = 0; lane < schedule.lanes; ++lane) start(lane);
      const std::vector<std::uint32_t> done = machine.advance();
      if (done.empty()) break;
      for (const std::uint32_t task : done) {
        finished[task] = free_since[lane_of[task]] = machine.now();
        is_busy[lane_of[task]] = false;
      }
    }
    for (std::uint32_t lane = 0; lane < schedule.lanes; ++lane)
      check(at[lane] == queues[lane].size(), "a schedule has no deadlock");
  };
  for (const Schedule::Step& step : schedule.steps) {
    check(step.lane < schedule.lanes, "the lane of a step exists");
    lane_of[step.task] = step.lane;
    if (tasks[step.task].is_barrier) finish_all();
    queues[step.lane].push_back(&step);
    if (tasks[step.task].is_barrier) finish_all();
  }
  finish_all();
  if (moments != nullptr) moments->end = std::move(finished);
  return static_cast<cost::Cost>(machine.now() + 0.5);
}

}  // namespace

Schedule one_after_the_other(const std::vector<Task>& tasks) {
  Schedule schedule;
  CodeAtHand code;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    schedule.steps.push_back({i, 0, {}});
    schedule.predicted += code.cost_of(tasks[i]);
  }
  return schedule;
}

Schedule in_lanes(const std::vector<Task>& tasks, const ScheduleOptions& options) {
  check(options.lanes > 0, "at least one lane");
  for (std::uint32_t i = 0; i < tasks.size(); ++i)
    for (const std::uint32_t need : tasks[i].needs) check(need < i, "tasks come after what they need");
  return ListScheduler(tasks, options).make();
}

std::vector<Schedule> schedules(const std::vector<Task>& tasks, std::uint32_t most_lanes) {
  constexpr std::size_t most_schedules = 5;
  const cost::Cost alone = one_after_the_other(tasks).predicted;
  std::vector<Schedule> found;
  // The longest path is a lower bound: a chain of steps cannot gain.
  if (least_time(tasks) >= alone - alone / least_gain) return found;
  // Each schedule takes time, and with so many steps one lane more or less does not matter.
  const bool are_many = tasks.size() > many_tasks;
  for (const std::uint32_t lanes : {2U, 3U, 4U, 6U, 8U, 12U, 16U}) {
    if (lanes > most_lanes) break;
    if (are_many && lanes != 4 && lanes != 16) continue;
    Schedule best;
    for (const double least : {0.0, 1.5, 3.0}) {
      if (are_many && least > 0) continue;
      Schedule schedule = in_lanes(tasks, {lanes, static_cast<cost::Cost>(least * at_best.crossing)});
      if (best.steps.empty() || schedule.predicted < best.predicted) best = std::move(schedule);
    }
    if (best.lanes > 1 && best.predicted < alone - alone / least_gain) found.push_back(std::move(best));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Schedule& a, const Schedule& b) { return a.predicted < b.predicted; });
  // Keeps the best schedule for each number of lanes.
  std::vector<Schedule> kept;
  for (Schedule& schedule : found) {
    const bool is_known =
        std::any_of(kept.begin(), kept.end(), [&](const Schedule& other) { return other.lanes == schedule.lanes; });
    if (is_known || kept.size() == most_schedules) continue;
    schedule.expected = expect(tasks, schedule);
    kept.push_back(std::move(schedule));
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Schedule& a, const Schedule& b) { return a.expected < b.expected; });
  return kept;
}

cost::Cost play(const std::vector<Task>& tasks, const Schedule& schedule) { return simulate(tasks, schedule, at_best); }

cost::Cost expect(const std::vector<Task>& tasks, const Schedule& schedule) {
  const cost::Cost alone = one_after_the_other(tasks).predicted;
  const cost::Cost gain = alone - simulate(tasks, schedule, as_found);
  return alone - static_cast<cost::Cost>(cost::h200::gain_in_lanes * static_cast<double>(gain));
}

std::vector<Span> spans_of(const std::vector<Task>& tasks, const Schedule& schedule) {
  std::vector<Span> spans(tasks.size());
  if (schedule.lanes == 1) {
    CodeAtHand code;
    cost::Cost now = 0;
    for (const Schedule::Step& step : schedule.steps) {
      const cost::Cost begin = now;
      now += code.cost_of(tasks[step.task]);
      spans[step.task] = {0, begin, now};
    }
    return spans;
  }
  Moments moments;
  const cost::Cost simulated = simulate(tasks, schedule, as_found, &moments);
  const double stretch =
      simulated > 0 ? static_cast<double>(expect(tasks, schedule)) / static_cast<double>(simulated) : 1;
  for (const Schedule::Step& step : schedule.steps)
    spans[step.task] = {step.lane, static_cast<cost::Cost>(moments.begin[step.task] * stretch),
                        static_cast<cost::Cost>(moments.end[step.task] * stretch)};
  return spans;
}

StepOrder::StepOrder(const std::vector<Task>& tasks, const Schedule& schedule)
    : lanes_(schedule.lanes), places_(tasks.size()), done_(tasks.size() * schedule.lanes, 0) {
  std::vector<Clock> clocks(lanes_, Clock(lanes_, 0));
  std::vector<Clock> finished(tasks.size());
  const auto meet = [&] {
    Clock all(lanes_, 0);
    for (const Clock& clock : clocks) reach(all, clock);
    for (Clock& clock : clocks) clock = all;
  };
  for (const Schedule::Step& step : schedule.steps) {
    const bool is_barrier = tasks[step.task].is_barrier;
    if (is_barrier) meet();
    Clock& clock = clocks[step.lane];
    for (const std::uint32_t other : step.after) {
      check(!finished[other].empty(), "steps come after what they wait for");
      reach(clock, finished[other]);
    }
    std::copy(clock.begin(), clock.end(), done_.begin() + static_cast<std::ptrdiff_t>(step.task * lanes_));
    places_[step.task] = {step.lane, ++clock[step.lane]};
    finished[step.task] = clock;
    if (is_barrier) meet();
  }
}

bool StepOrder::precedes(std::uint32_t task, std::uint32_t other) const {
  return done_[other * lanes_ + places_[task].lane] >= places_[task].number;
}

StepOrder::Use StepOrder::use_by(const std::vector<std::uint32_t>& tasks) const {
  Use use;
  use.last_.assign(lanes_, 0);
  use.done_.assign(lanes_, nobody);
  for (const std::uint32_t task : tasks) {
    std::uint32_t& last = use.last_[places_[task].lane];
    last = std::max(last, places_[task].number);
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      use.done_[lane] = std::min(use.done_[lane], done_[task * lanes_ + lane]);
  }
  return use;
}

bool StepOrder::Use::is_before(const Use& other) const {
  for (std::size_t lane = 0; lane < last_.size(); ++lane)
    if (last_[lane] > other.done_[lane]) return false;
  return true;
}

}  // namespace taso::gpu
