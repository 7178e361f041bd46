// Schedules: each step waits for what it needs, no wait is redundant, and concurrent steps take less time.
#include "runtime/gpu/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cost/pricing/h200.h"
#include "ops/core/random.h"
#include "runtime/gpu/footprint.h"
#include "runtime/gpu/share.h"
#include "tests/catch.h"

namespace taso::test {

using namespace gpu;

namespace {

constexpr cost::Cost microsecond = 1'000'000;

std::vector<Task> random_tasks(Random& random) {
  std::vector<Task> tasks(random.below(40));
  const double density = random.unit();
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    tasks[i].cost = random.chance(0.1) ? 0 : random.between(1, 20) * microsecond;
    tasks[i].share = random.unit();
    tasks[i].is_barrier = random.chance(0.03);
    for (std::uint32_t need = 0; need < i; ++need)
      if (random.chance(density / (1 + 0.2 * i))) tasks[i].needs.push_back(need);
  }
  return tasks;
}

/// The guaranteed order of steps, found by following every path.
std::vector<std::vector<bool>> paths(const std::vector<Task>& tasks, const Schedule& schedule) {
  std::vector<std::vector<bool>> before(tasks.size(), std::vector<bool>(tasks.size(), false));
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Schedule::Step& step = schedule.steps[i];
    const auto follow = [&](std::uint32_t other) {
      before[step.task][other] = true;
      for (std::size_t k = 0; k < tasks.size(); ++k)
        if (before[other][k]) before[step.task][k] = true;
    };
    for (const std::uint32_t other : step.after) follow(other);
    for (std::size_t j = 0; j < i; ++j) {
      const Schedule::Step& other = schedule.steps[j];
      if (other.lane == step.lane || tasks[other.task].is_barrier || tasks[step.task].is_barrier) follow(other.task);
    }
  }
  return before;
}

cost::Cost longest_path(const std::vector<Task>& tasks) {
  std::vector<cost::Cost> ends(tasks.size(), 0);
  cost::Cost longest = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const std::uint32_t need : tasks[i].needs) ends[i] = std::max(ends[i], ends[need]);
    ends[i] += tasks[i].cost;
    longest = std::max(longest, ends[i]);
  }
  return longest;
}

cost::Cost sum_of(const std::vector<Task>& tasks) {
  return std::accumulate(tasks.begin(), tasks.end(), cost::Cost{0},
                         [](cost::Cost sum, const Task& task) { return sum + task.cost; });
}

}  // namespace

TEST_CASE("in lanes, each step waits for what it needs, without redundant waits") {
  Random random(5);
  std::size_t beside = 0, waits = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const ScheduleOptions options{static_cast<std::uint32_t>(1 + random.below(8)),
                                  static_cast<cost::Cost>(random.below(4)) * microsecond};
    Schedule schedule = in_lanes(tasks, options);
    CHECK(schedule.lanes >= 1);
    CHECK(schedule.lanes <= options.lanes);
    std::vector<std::size_t> times(tasks.size(), 0);
    for (const Schedule::Step& step : schedule.steps) ++times[step.task];
    CHECK(std::all_of(times.begin(), times.end(), [](std::size_t n) { return n == 1; }));

    const std::vector<std::vector<bool>> before = paths(tasks, schedule);
    const StepOrder order(tasks, schedule);
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      for (const std::uint32_t need : tasks[i].needs) REQUIRE(before[i][need]);
      for (std::uint32_t k = 0; k < tasks.size(); ++k) {
        REQUIRE(order.precedes(k, i) == before[i][k]);
        if (i != k && !before[i][k] && !before[k][i]) ++beside;
      }
    }
    // Removing any single wait must lose a guarantee.
    for (Schedule::Step& step : schedule.steps) {
      for (std::size_t i = 0; i < step.after.size(); ++i) {
        ++waits;
        const std::uint32_t other = step.after[i];
        step.after.erase(step.after.begin() + static_cast<std::ptrdiff_t>(i));
        REQUIRE_FALSE(paths(tasks, schedule)[step.task][other]);
        step.after.insert(step.after.begin() + static_cast<std::ptrdiff_t>(i), other);
      }
    }
    CHECK(play(tasks, schedule) == schedule.predicted);
    CHECK(schedule.predicted >= longest_path(tasks) - 100);
  }
  CHECK(beside > 1000);
  CHECK(waits > 1000);
}

TEST_CASE("a use precedes another if all of its steps finish first") {
  Random random(8);
  std::size_t found = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    if (tasks.empty()) continue;
    const Schedule schedule = in_lanes(tasks, {4, 0});
    const StepOrder order(tasks, schedule);
    for (int pair = 0; pair < 40; ++pair) {
      const auto some = [&] {
        std::vector<std::uint32_t> list;
        const std::size_t count = 1 + random.below(3);
        for (std::size_t i = 0; i < count; ++i) list.push_back(static_cast<std::uint32_t>(random.below(tasks.size())));
        return list;
      };
      const std::vector<std::uint32_t> a = some(), b = some();
      const bool expected = std::all_of(a.begin(), a.end(), [&](std::uint32_t i) {
        return std::all_of(b.begin(), b.end(), [&](std::uint32_t k) { return order.precedes(i, k); });
      });
      CHECK(order.use_by(a).is_before(order.use_by(b)) == expected);
      if (expected) ++found;
    }
  }
  CHECK(found > 200);
}

TEST_CASE("a sequential schedule takes the sum of all tasks") {
  Random random(2);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    const Schedule schedule = one_after_the_other(tasks);
    CHECK(schedule.lanes == 1);
    CHECK(schedule.predicted == sum_of(tasks));
    CHECK(std::abs(play(tasks, schedule) - schedule.predicted) <= 1);
    CHECK(std::abs(in_lanes(tasks, {1, 0}).predicted - schedule.predicted) <= 1);
  }
}

TEST_CASE("spans end at the expected time, follow what they need, and never overlap in a lane") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    std::vector<Schedule> tried{one_after_the_other(tasks)};
    for (Schedule& one : schedules(tasks, 8)) tried.push_back(std::move(one));
    for (const Schedule& schedule : tried) {
      const std::vector<Span> spans = spans_of(tasks, schedule);
      REQUIRE(spans.size() == tasks.size());
      const cost::Cost total = schedule.lanes == 1 ? schedule.predicted : schedule.expected;
      cost::Cost last = 0;
      std::vector<cost::Cost> free(schedule.lanes, 0);
      for (const Schedule::Step& step : schedule.steps) {
        const Span& span = spans[step.task];
        CHECK(span.lane == step.lane);
        CHECK(span.begin <= span.end);
        CHECK(span.begin + 1 >= free[span.lane]);  // one for rounding
        free[span.lane] = span.end;
        for (const std::uint32_t need : tasks[step.task].needs) CHECK(span.begin + 1 >= spans[need].end);
        last = std::max(last, span.end);
      }
      CHECK(std::abs(last - total) <= 2);
    }
  }
}

TEST_CASE("a step costs less if it was one of the last two kinds") {
  std::vector<Task> tasks(9, {10 * microsecond, 1, false, {}});
  const std::array<std::uint32_t, 9> kinds{1, 1, 2, 1, 2, 3, 1, 2, 2};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].cost_again = 6 * microsecond;
    tasks[i].kind = kinds[i];
  }
  const Schedule schedule = one_after_the_other(tasks);
  CHECK(schedule.predicted == (10 + 6 + 10 + 6 + 6 + 10 + 10 + 10 + 6) * microsecond);
  CHECK(std::abs(play(tasks, schedule) - schedule.predicted) <= 1);
  for (Task& task : tasks) task.kind = 7;
  CHECK(one_after_the_other(tasks).predicted == (10 + 8 * 6) * microsecond);
  const Schedule beside = in_lanes(tasks, {2, 0});  // each fills the GPU
  CHECK(std::abs(play(tasks, beside) - beside.predicted) <= 1);
  CHECK(beside.predicted <= (10 + 10 + 7 * 6) * microsecond);
  // A task without a kind does not affect the cached code.
  tasks[1].kind.reset();
  CHECK(one_after_the_other(tasks).predicted == (10 + 10 + 7 * 6) * microsecond);
}

TEST_CASE("small independent kernels gain from concurrency, large ones and chains do not") {
  std::vector<Task> tasks(8, {10 * microsecond, 0.1, false, {}});
  std::vector<Schedule> found = schedules(tasks, 8);
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().lanes == 8);
  CHECK(found.front().predicted == 10 * microsecond);
  CHECK(found.front().expected > found.front().predicted);
  found = schedules(tasks, 2);
  REQUIRE(found.size() == 1);
  CHECK(found.front().predicted == 40 * microsecond);

  for (std::uint32_t i = 1; i < tasks.size(); ++i) tasks[i].needs = {i - 1};
  CHECK(schedules(tasks, 8).empty());

  // Launches overlap, the work does not.
  tasks.assign(8, {10 * microsecond, 1, false, {}});
  for (const Schedule& one : schedules(tasks, 8)) CHECK(one.predicted >= 72 * microsecond);
}

TEST_CASE("expected times: separate starts, a load for each step, and a discounted gain") {
  const auto eight = [](double load) {
    std::vector<Task> tasks(8, {10 * microsecond, 0.1, false, {}});
    for (Task& task : tasks) task.load = load;
    return tasks;
  };
  const auto picoseconds = [](double nanoseconds) { return static_cast<cost::Cost>(nanoseconds * 1e3); };
  // The expected time, given the sequential and the simulated time.
  const auto found = [](cost::Cost alone, cost::Cost time) {
    return alone - static_cast<cost::Cost>(cost::h200::gain_in_lanes * static_cast<double>(alone - time));
  };
  const auto expected_of = [&](double load) { return expect(eight(load), in_lanes(eight(load), {8, 0})); };
  const cost::Cost last_begin = 7 * picoseconds(cost::h200::between_begins), all = 80 * microsecond;
  CHECK(std::abs(expected_of(0.1) - found(all, last_begin + 10 * microsecond)) <= 1);
  CHECK(expected_of(0.25) >= found(all, 20 * microsecond));
  CHECK(expected_of(0.25) <= found(all, 20 * microsecond + last_begin));
  CHECK(std::abs(expected_of(1) - all) <= 1);
  // The same numbers of lanes are tried, whatever is expected.
  for (const double load : {0.1, 1.0}) {
    const std::vector<Schedule> tried = schedules(eight(load), 8);
    REQUIRE(tried.size() == 5);
    for (const Schedule& one : tried) CHECK(one.expected == expect(eight(load), one));
  }

  const auto small = [](std::vector<int> costs) {
    std::vector<Task> tasks;
    for (const int cost : costs) {
      tasks.push_back({cost * microsecond, 0.1, false, {}});
      tasks.back().load = 0.1;
    }
    return tasks;
  };
  // Sequential, but in two lanes: every step but the first waits for the other lane.
  const std::vector<Task> chain = small({10, 10, 10, 10});
  const Schedule schedule{{{0, 0, {}}, {1, 1, {0}}, {2, 0, {1}}, {3, 1, {2}}}, 2, 0, 0};
  const cost::Cost waits = 3 * picoseconds(cost::h200::crossing);
  CHECK(std::abs(expect(chain, schedule) - found(40 * microsecond, 40 * microsecond + waits)) <= 1);
  // A step that waits for another lane is also delayed by its predecessor in its own lane; a step without a wait is
  // not.
  const std::vector<Task> two = small({10, 2, 10});
  const Schedule waiting{{{0, 0, {}}, {1, 1, {}}, {2, 0, {1}}}, 2, 0, 0},
      free{{{0, 0, {}}, {1, 1, {}}, {2, 0, {}}}, 2, 0, 0};
  CHECK(std::abs(expect(two, waiting) - found(22 * microsecond, 20 * microsecond + picoseconds(cost::h200::held_up))) <=
        1);
  CHECK(std::abs(expect(two, free) - found(22 * microsecond, 20 * microsecond)) <= 1);
  // A waiting step does not delay steps without a wait, whatever their lanes.
  const std::vector<Task> five = small({5, 5, 5, 1, 10});
  for (const std::uint32_t lane : {0U, 2U}) {
    const Schedule one{{{0, lane, {}}, {1, 1, {}}, {2, 2 - lane, {}}, {3, lane, {1}}, {4, 2 - lane, {}}}, 3, 0, 0};
    CHECK(play(five, one) == 15 * microsecond);
    CHECK(expect(five, one) <= found(26 * microsecond, 15 * microsecond + 3 * picoseconds(cost::h200::between_begins)));
  }
}

TEST_CASE("the best expected schedule comes first") {
  Random random(12);
  std::size_t several = 0, others = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Task> tasks = random_tasks(random);
    for (Task& task : tasks) task.load = random.unit();
    const std::vector<Schedule> found = schedules(tasks, 8);
    several += found.size() > 1;
    for (std::size_t i = 1; i < found.size(); ++i) {
      CHECK(found[i - 1].expected <= found[i].expected);
      others += found[i - 1].predicted > found[i].predicted;
    }
  }
  CHECK(several > 10);
  CHECK(others > 0);
}

TEST_CASE("the load of a kernel is what it moves per time") {
  cost::Kernel kernel;
  kernel.element = ElementType::float32;
  kernel.bytes = 1200 * cost::h200::beside_activations;  // 1.2 microseconds of the whole device
  CHECK(load_of(kernel, 2 * microsecond, cost::Precision::tf32) == Approx(0.6));
  CHECK(load_of(kernel, 4 * microsecond, cost::Precision::tf32) == Approx(0.3));
  CHECK(load_of(kernel, 2 * microsecond, cost::Precision::fp16) == Approx(0.3));
  CHECK(load_of(kernel, 1 * microsecond, cost::Precision::tf32) == 1);
  CHECK(load_of(kernel, 0, cost::Precision::tf32) == 1);
  kernel.weight_bytes = 200 * cost::h200::beside_weights;
  CHECK(load_of(kernel, 2 * microsecond, cost::Precision::tf32) == Approx(0.7));
  // A product of two tiles, each of which fetches 64 rows and 64 columns.
  kernel.batches = 2;
  kernel.rows = kernel.columns = 64;
  kernel.depth = 256;
  const double fetched = 2 * 256 * (64 + 64) * 4;
  CHECK(load_of(kernel, 2 * microsecond, cost::Precision::tf32) ==
        Approx(0.7 + fetched / cost::h200::beside_tiles / 2000));
  CHECK(load_of({}, microsecond, cost::Precision::tf32) > 0);
}

TEST_CASE("branches too short to be worth a wait stay in one lane") {
  // Ten levels of two short tasks, each of which needs both tasks of the level before.
  std::vector<Task> tasks;
  for (std::uint32_t i = 0; i < 10; ++i) {
    tasks.push_back({microsecond / 2, 0.1, false, {}});
    tasks.push_back({microsecond / 2, 0.1, false, {}});
    if (i > 0) tasks[2 * i].needs = tasks[2 * i + 1].needs = {2 * i - 2, 2 * i - 1};
  }
  CHECK(schedules(tasks, 4).empty());
}

TEST_CASE("four branches between a fork and a join") {
  std::vector<Task> tasks{{5 * microsecond, 0.5, false, {}}};
  for (std::uint32_t branch = 0; branch < 4; ++branch)
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto at = static_cast<std::uint32_t>(tasks.size());
      tasks.push_back({5 * microsecond, 0.2, false, {i == 0 ? 0 : at - 1}});
    }
  tasks.push_back({5 * microsecond, 0.5, false, {3, 6, 9, 12}});
  const Schedule schedule = in_lanes(tasks, {4, 0});
  CHECK(schedule.lanes == 4);
  std::size_t waits = 0;
  for (const Schedule::Step& step : schedule.steps) waits += step.after.size();
  CHECK(waits == 6);  // three forks, three joins
  CHECK(schedule.predicted == 27 * microsecond);
}

TEST_CASE("overlaps of tensors in one memory are found") {
  Random random(4);
  std::size_t apart = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto some = [&] {
      Footprint one;
      one.size = random.chance(0.5) ? 4 : 2;
      one.offset = random.between(0, 40) * one.size;
      for (std::size_t axis = random.below(4); axis > 0; --axis) {
        one.extents.push_back(random.between(random.chance(0.02) ? 0 : 1, 4));
        one.strides.push_back(random.chance(0.5) ? random.between(0, 20) : std::int64_t{1} << random.below(6));
      }
      return one;
    };
    const auto bytes = [](const Footprint& one) {
      std::vector<std::int64_t> list{one.offset};
      for (std::size_t axis = 0; axis < one.extents.size(); ++axis) {
        std::vector<std::int64_t> longer;
        for (const std::int64_t at : list)
          for (std::int64_t i = 0; i < one.extents[axis]; ++i) longer.push_back(at + i * one.strides[axis] * one.size);
        list = std::move(longer);
      }
      std::vector<std::int64_t> all;
      for (const std::int64_t at : list)
        for (std::int64_t i = 0; i < one.size; ++i) all.push_back(at + i);
      std::sort(all.begin(), all.end());
      return all;
    };
    const Footprint a = some(), b = some();
    const std::vector<std::int64_t> of_a = bytes(a), of_b = bytes(b);
    std::vector<std::int64_t> common;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
    if (!common.empty()) {
      REQUIRE(may_overlap(a, b));
      REQUIRE(may_overlap(b, a));
    }
    if (!may_overlap(a, b)) ++apart;
  }
  CHECK(apart > 500);
  // Interleaved channels of two tensors, and interleaved examples of two tensors.
  CHECK_FALSE(may_overlap({0, 4, {2, 3, 5, 5}, {200, 1, 40, 8}}, {12, 4, {2, 5, 5, 5}, {200, 1, 40, 8}}));
  CHECK(may_overlap({0, 4, {2, 4, 5, 5}, {200, 1, 40, 8}}, {12, 4, {2, 5, 5, 5}, {200, 1, 40, 8}}));
  CHECK_FALSE(may_overlap({0, 4, {2, 3, 5, 5}, {200, 25, 5, 1}}, {300, 4, {2, 5, 5, 5}, {200, 25, 5, 1}}));
}

}  // namespace taso::test
