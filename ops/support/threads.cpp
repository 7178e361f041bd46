#include "ops/support/threads.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace taso::ops {
namespace {

struct Job {
  const TaskBody& body;
  std::atomic<std::int64_t> end;  // the tasks before it count
  std::atomic<std::int64_t> next{0};
  std::mutex guard;
  std::exception_ptr failure;  // of the last task that counts

  void work() {
    for (std::int64_t task;
         (task = next.fetch_add(1, std::memory_order_relaxed)) < end.load(std::memory_order_relaxed);) {
      std::exception_ptr error;
      try {
        if (body(task)) continue;
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(guard);
      if (task >= end) continue;
      end = task + 1;
      failure = error;
    }
  }
};

/// One worker thread. A job is offered, and either the thread accepts it or the offer is withdrawn before. So no caller
/// ever waits for a thread that the system has not yet scheduled.
class Helper {
 public:
  Helper() : thread_([this] { loop(); }) {}
  ~Helper() {
    state_.store(stopping);
    state_.notify_one();
  }
  void offer(Job& job) {
    job_ = &job;
    state_.store(offered, std::memory_order_release);
    state_.notify_one();
  }
  /// Returns when the thread no longer refers to the job.
  void release() {
    std::uint32_t expected = offered;
    if (state_.compare_exchange_strong(expected, idle)) return;
    for (std::uint32_t seen; (seen = state_.load(std::memory_order_acquire)) == working;) state_.wait(seen);
  }

 private:
  enum State : std::uint32_t { idle, offered, working, stopping };

  void loop() {
    while (true) {
      // Running a graph is a quick succession of jobs: a short spin is cheaper than falling asleep between them.
      for (int look = 0; look < 2000 && state_.load(std::memory_order_relaxed) == idle; ++look)
        if (look % 64 == 63) std::this_thread::yield();
      state_.wait(idle);
      std::uint32_t expected = offered;
      if (state_.compare_exchange_strong(expected, working)) {
        job_->work();
        expected = working;
        if (!state_.compare_exchange_strong(expected, idle)) return;
        state_.notify_all();
      } else if (expected == stopping) {
        return;
      }
    }
  }

  std::atomic<std::uint32_t> state_{idle};
  Job* job_ = nullptr;
  std::jthread thread_;  // last: it starts when the other members exist
};

class Team {
 public:
  static Team& instance() {
    // Never destroyed: a forked child has none of the threads, and would wait for them at its end.
    static Team& team = *new Team;
    return team;
  }
  void run(unsigned threads, Job& job) {
    // A mutex will not do: a task with a loop of its own may be on the thread that holds it.
    if (threads <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
      job.work();
      return;
    }
    const std::int64_t wanted = std::min<std::int64_t>(threads, job.end) - 1;
    try {
      while (std::ssize(helpers_) < wanted) helpers_.push_back(std::make_unique<Helper>());
    } catch (const std::exception&) {  // the system has no more threads: use those that exist
    }
    const std::span helpers(helpers_.data(), std::min<std::size_t>(wanted, helpers_.size()));
    for (const auto& helper : helpers) helper->offer(job);
    job.work();
    for (const auto& helper : helpers) helper->release();
    busy_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> busy_{false};
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace

unsigned thread_count(unsigned asked) {
  constexpr unsigned most = 256;
  static const unsigned here = std::max(1u, std::thread::hardware_concurrency());  // cached: each call reads a file
  return std::min(asked != 0 ? asked : here, most);
}

std::int64_t run_tasks(unsigned threads, std::int64_t tasks, const TaskBody& body) {
  if (tasks <= 0) return 0;
  Job job{body, tasks, {}, {}, {}};
  Team::instance().run(threads, job);
  if (job.failure) std::rethrow_exception(job.failure);
  return job.end;
}

std::int64_t parallel_until(unsigned threads, std::int64_t tasks, const std::stop_token& stop,
                            const std::function<bool(std::int64_t task, const std::stop_token& stop)>& body) {
  std::vector<std::stop_source> stops(static_cast<std::size_t>(tasks));
  const auto stop_from = [&](std::int64_t first) {
    for (std::stop_source& source : std::span(stops).subspan(static_cast<std::size_t>(first))) source.request_stop();
  };
  const std::stop_callback stop_all(stop, [&] { stop_from(0); });
  const auto run = [&](std::int64_t task) {
    const std::stop_source& mine = stops[static_cast<std::size_t>(task)];
    if (stop.stop_requested() || mine.stop_requested()) return true;
    try {
      if (body(task, mine.get_token())) return true;
    } catch (...) {
      stop_from(task + 1);
      throw;
    }
    stop_from(task + 1);
    return false;
  };
  return run_tasks(threads, tasks, TaskBody(run));
}

void run_watched(const std::stop_source& stop, const std::function<void()>& work, const std::function<void()>& watch) {
  std::exception_ptr error, trouble;
  std::mutex guard;
  std::condition_variable changed;
  bool is_done = false;
  std::jthread thread([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(guard);
    is_done = true;
    changed.notify_all();
  });
  for (bool is_over = false; !is_over;) {
    {
      std::unique_lock lock(guard);
      is_over = changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return is_done; });
    }
    try {
      if (!trouble) watch();
    } catch (...) {  // the thread must end first
      trouble = std::current_exception();
      stop.request_stop();
    }
  }
  thread.join();
  if (trouble) std::rethrow_exception(trouble);
  if (error) std::rethrow_exception(error);
}

}  // namespace taso::ops
