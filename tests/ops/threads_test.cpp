#include "ops/support/threads.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace taso::test {
namespace {

using namespace std::chrono_literals;

/// Where it is one, the system refuses new threads: there is no room for stacks of this size.
class NoNewThreads {
 public:
  NoNewThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 56);
    ::pthread_setattr_default_np(&attributes);
    ::pthread_attr_destroy(&attributes);
  }
  ~NoNewThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoNewThreads(const NoNewThreads&) = delete;
  NoNewThreads& operator=(const NoNewThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace

TEST_CASE("every task is done once, on any number of threads", "[threads]") {
  for (const unsigned threads : {0u, 1u, 2u, 9u}) {
    std::vector<int> done(100);
    parallel_for(threads, done.size(), [&](std::size_t task) { ++done[task]; });
    CHECK(parallel_until(threads, done.size(), {},
                         [&](std::size_t task, const std::stop_token&) { return ++done[task] > 0; }) == 100);
    CHECK(done == std::vector<int>(100, 2));
  }
  parallel_for(2, 0, [](std::size_t) { FAIL(); });
  CHECK(parallel_until(2, 0, {}, [](std::size_t, const std::stop_token&) { return false; }) == 0);
}

TEST_CASE("without new threads, a loop goes on with those that exist", "[threads]") {
  CHECK_THROWS_AS(([] {
                    const NoNewThreads here;
                    std::jthread([] {});
                  }()),
                  std::system_error);
  const NoNewThreads here;
  std::vector<int> done(300);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  parallel_for(200, done.size(), [&](std::size_t task) {
    ++done[task];
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(done == std::vector<int>(300, 1));
  CHECK(threads.size() < 200);
}

TEST_CASE("a task with a loop of its own runs it alone", "[threads]") {
  std::array<std::atomic<int>, 8> alone{};
  parallel_for(2, alone.size(), [&](std::size_t task) {
    const std::thread::id here = std::this_thread::get_id();
    parallel_for(6, 10, [&](std::size_t) {
      std::this_thread::sleep_for(1ms);  // threads that wait would have the time to join
      alone[task] += std::this_thread::get_id() == here;
    });
  });
  for (const auto& count : alone) CHECK(count == 10);
}

TEST_CASE("a loop that is asked to stop starts no more tasks", "[threads]") {
  for (const unsigned threads : {1u, 3u}) {
    std::stop_source stop;
    std::atomic<int> started{0};
    parallel_for(threads, 1000, stop.get_token(), [&](std::size_t) {
      if (++started >= 5) stop.request_stop();
    });
    CHECK(started >= 5);
    CHECK(started < 5 + static_cast<int>(threads));
  }
}

TEST_CASE("the first task that ends a loop is the same on any number of threads", "[threads]") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    std::vector<std::atomic<int>> done(50);
    const auto work = [&](std::size_t task, const std::stop_token&) {
      if (task == 20) std::this_thread::sleep_for(20ms);  // 30 returns false first
      ++done[task];
      return task != 20 && task != 30;
    };
    CHECK(parallel_until(threads, done.size(), {}, work) == 21);
    for (std::size_t i = 0; i <= 20; ++i) CHECK(done[i] == 1);
  }
}

TEST_CASE("the first task's error is reported", "[threads]") {
  const auto throws = [](std::size_t task) {
    if (task == 10) std::this_thread::sleep_for(20ms);
    if (task == 10 || task == 12) throw std::runtime_error(std::to_string(task));
  };
  for (const unsigned threads : {1u, 4u}) {
    CHECK_THROWS_WITH(parallel_for(threads, 40, throws), "10");
    CHECK_THROWS_WITH(parallel_until(threads, 40, {},
                                     [&](std::size_t task, const std::stop_token&) {
                                       throws(task);
                                       return true;
                                     }),
                      "10");
  }
  CHECK(parallel_until(2, 40, {}, [](std::size_t task, const std::stop_token&) -> bool {
          if (task == 8) throw std::runtime_error("too late");
          return task != 5;
        }) == 6);
}

TEST_CASE("tasks after the last one that counts are asked to stop, and earlier ones are not", "[threads]") {
  std::array<std::atomic<bool>, 3> started{}, stopped{};
  const auto work = [&](std::size_t task, const std::stop_token& stop) {
    started[task] = true;
    if (task == 1) {
      for (int i = 0; i < 1000 && !started[2]; ++i) std::this_thread::sleep_for(1ms);
      return false;
    }
    for (int i = 0; i < (task == 0 ? 50 : 10'000) && !stop.stop_requested(); ++i) std::this_thread::sleep_for(1ms);
    stopped[task] = stop.stop_requested();
    return true;
  };
  CHECK(parallel_until(3, 3, {}, work) == 2);
  CHECK_FALSE(stopped[0]);
  CHECK(stopped[2] == started[2]);
}

TEST_CASE("the watcher can stop everything", "[threads]") {
  std::atomic<int> started{0};
  std::int64_t counted = 0;
  std::stop_source stop;
  const auto wait = [&](std::size_t, const std::stop_token& token) {
    ++started;
    while (!token.stop_requested()) std::this_thread::sleep_for(1ms);
    return true;
  };
  const auto work = [&] { counted = parallel_until(2, 1000, stop.get_token(), wait); };
  run_watched(stop, work, [&] { stop.request_stop(); });
  CHECK(counted == 1000);
  CHECK(started <= 4);

  stop = {};
  CHECK_THROWS_WITH(run_watched(stop, work, [] { throw std::runtime_error("the watch stopped"); }),
                    "the watch stopped");
}

TEST_CASE("work that is watched runs on another thread, and its errors arrive", "[threads]") {
  const std::thread::id here = std::this_thread::get_id();
  bool is_elsewhere = false, is_here = false;
  run_watched(
      std::stop_source(), [&] { is_elsewhere = std::this_thread::get_id() != here; },
      [&] { is_here = std::this_thread::get_id() == here; });
  CHECK(is_elsewhere);
  CHECK(is_here);
  CHECK_THROWS_WITH(run_watched(
                        std::stop_source(), [] { throw std::runtime_error("the work failed"); }, [] {}),
                    "the work failed");
}

}  // namespace taso::test
