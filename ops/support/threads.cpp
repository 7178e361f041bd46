#include "ops/support/threads.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace taso::ops {
namespace {

struct Job {
  const TaskBody& body;
  std::int64_t tasks;
  std::atomic<std::int64_t> next{0};
  std::mutex guard;
  std::exception_ptr failure;

  void work() {
    for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      try {
        body(task);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        next.store(tasks, std::memory_order_relaxed);
      }
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
    static Team team;
    return team;
  }
  void run(unsigned threads, Job& job) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    std::size_t wanted = lock ? std::min<std::size_t>(threads - 1, static_cast<std::size_t>(job.tasks) - 1) : 0;
    try {
      while (helpers_and(lock) < wanted) helpers_.push_back(std::make_unique<Helper>());
    } catch (const std::system_error&) {
      wanted = std::min(wanted, helpers_.size());  // the system has no more threads: use those that exist
    }
    for (std::size_t i = 0; i < wanted; ++i) helpers_[i]->offer(job);
    job.work();
    for (std::size_t i = 0; i < wanted; ++i) helpers_[i]->release();
  }

 private:
  /// The number of helpers. Only the holder of the lock may read it.
  std::size_t helpers_and(const std::unique_lock<std::mutex>& lock) const { return lock ? helpers_.size() : 0; }

  std::mutex busy_;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace

unsigned thread_count(unsigned asked) {
  constexpr unsigned most = 256;
  static const unsigned here = std::max(1u, std::thread::hardware_concurrency());  // cached: each call reads a file
  return std::min(asked != 0 ? asked : here, most);
}

void run_tasks(unsigned threads, std::int64_t tasks, const TaskBody& body) {
  Job job{body, tasks, {}, {}, {}};
  Team::instance().run(threads, job);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace taso::ops
