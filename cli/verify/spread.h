// Work spread over threads whose outcome does not depend on how many there are.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace taso::cli {

struct Spread {
  std::size_t tasks = 0;
  unsigned jobs = 0;  ///< 0: one for each processor
  /// On one of the threads. False ends everything: tasks after this one do not count, those before it are finished.
  std::function<bool(std::size_t task, const std::stop_token& stop)> work;
  /// On the calling thread, several times a second and once at the end; true asks every task to stop.
  std::function<bool()> watch;
};

/// Starts tasks in their order. The number of tasks that count: all of them, or those up to the first that said false.
/// An exception of the first task that threw one is thrown again, unless an earlier task said false.
std::size_t spread(const Spread& spread);

}  // namespace taso::cli
