// A thread pool with lasting threads: thread-local state (such as a solver's context) is made once, not for each task.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace taso::generator {

class Workers {
 public:
  /// The calling thread is one of `jobs`.
  explicit Workers(unsigned jobs);

  /// Calls f(i) once for each i below `count`, and returns when all are done. An exception ends the rest and is thrown
  /// again. Not thread-safe.
  void for_each(std::size_t count, const std::stop_token& stop, const std::function<void(std::size_t)>& f);

 private:
  void wait_for_work(const std::stop_token& end);
  void work(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable_any begun_, done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::stop_token stop_;
  std::size_t next_ = 0, count_ = 0, running_ = 0;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // last: threads must end before the members they use
};

}  // namespace taso::generator
