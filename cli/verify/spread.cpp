#include "cli/verify/spread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace taso::cli {
namespace {

class Run {
 public:
  explicit Run(const Spread& spread) : spread_(spread), stops_(spread.tasks), end_(spread.tasks) {}

  std::size_t run() {
    const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1u);
    const std::size_t jobs = std::min<std::size_t>(spread_.jobs == 0 ? processors : spread_.jobs, spread_.tasks);
    std::vector<std::thread> threads;
    std::unique_lock lock(mutex_);
    try {
      for (std::size_t i = 0; i < jobs; ++i) {
        ++working_;
        threads.emplace_back([this] { work(); });
      }
    } catch (...) {  // fewer threads than requested are enough
      --working_;
      if (threads.empty()) throw;
    }
    while (working_ > 0) {
      done_.wait_for(lock, std::chrono::milliseconds(100), [&] { return working_ == 0; });
      lock.unlock();
      bool stop = false;
      std::exception_ptr error;
      try {
        stop = spread_.watch && spread_.watch();
      } catch (...) {  // the threads must be joined first
        stop = true;
        error = std::current_exception();
      }
      lock.lock();
      if (!stop) continue;
      stop_after(0);
      next_ = spread_.tasks;
      if (error) error_ = error;
    }
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return end_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < end_) {
      const std::size_t task = next_++;
      lock.unlock();
      bool go_on = true;
      std::exception_ptr error;
      try {
        go_on = spread_.work(task, stops_[task].get_token());
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if ((!go_on || error) && task < end_) {
        end_ = task + 1;
        error_ = error;
        stop_after(end_);
      }
    }
    if (--working_ == 0) done_.notify_all();
  }

  void stop_after(std::size_t task) {
    for (; task < stops_.size(); ++task) stops_[task].request_stop();
  }

  const Spread& spread_;
  std::vector<std::stop_source> stops_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t next_ = 0, end_ = 0, working_ = 0;
  std::exception_ptr error_;
};

}  // namespace

std::size_t spread(const Spread& spread) { return Run(spread).run(); }

}  // namespace taso::cli
