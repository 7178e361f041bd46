#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cli/verify/spread.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

using namespace std::chrono_literals;

TEST_CASE("every task is done once, on any number of threads") {
  for (const unsigned jobs : {0u, 1u, 2u, 9u}) {
    std::vector<int> done(100);
    Spread work;
    work.tasks = done.size();
    work.jobs = jobs;
    work.work = [&](std::size_t task, const std::stop_token&) { return ++done[task] > 0; };
    CHECK(spread(work) == 100);
    CHECK(done == std::vector<int>(100, 1));
  }
  CHECK(spread({}) == 0);
}

TEST_CASE("the first task that ends the work is the same on any number of threads") {
  for (const unsigned jobs : {1u, 2u, 8u}) {
    std::vector<std::atomic<int>> done(50);
    Spread work;
    work.tasks = done.size();
    work.jobs = jobs;
    work.work = [&](std::size_t task, const std::stop_token&) {
      if (task == 20) std::this_thread::sleep_for(20ms);  // 30 returns false first
      ++done[task];
      return task != 20 && task != 30;
    };
    CHECK(spread(work) == 21);
    for (std::size_t i = 0; i <= 20; ++i) CHECK(done[i] == 1);
  }
}

TEST_CASE("the first error is reported") {
  for (const unsigned jobs : {1u, 4u}) {
    Spread work;
    work.tasks = 40;
    work.jobs = jobs;
    work.work = [](std::size_t task, const std::stop_token&) -> bool {
      if (task == 10) std::this_thread::sleep_for(20ms);
      if (task == 10 || task == 12) throw std::runtime_error(std::to_string(task));
      return true;
    };
    CHECK_THROWS_WITH(spread(work), "10");
  }
  Spread ends_before;
  ends_before.tasks = 40;
  ends_before.jobs = 2;
  ends_before.work = [](std::size_t task, const std::stop_token&) -> bool {
    if (task == 8) throw std::runtime_error("too late");
    return task != 5;
  };
  CHECK(spread(ends_before) == 6);
}

TEST_CASE("the watcher can stop everything") {
  std::atomic<int> started{0};
  Spread work;
  work.tasks = 1000;
  work.jobs = 2;
  work.work = [&](std::size_t, const std::stop_token& stop) {
    ++started;
    while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    return true;
  };
  work.watch = [] { return true; };
  CHECK(spread(work) == 1000);
  CHECK(started <= 4);

  work.watch = []() -> bool { throw std::runtime_error("the watch stopped"); };
  CHECK_THROWS_WITH(spread(work), "the watch stopped");
}

}  // namespace
}  // namespace taso::test
