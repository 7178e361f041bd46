// Runs tasks on several threads, with a result that does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace taso::cli {

struct Spread {
  std::size_t tasks = 0;
  unsigned jobs = 0;  ///< 0: one for each processor
  /// Runs on a worker thread. Returning false ends the run: later tasks do not count, earlier ones are finished.
  std::function<bool(std::size_t task, const std::stop_token& stop)> work;
  /// Runs on the calling thread, several times a second and once at the end; returning true asks every task to stop.
  std::function<bool()> watch;
};

/// Starts tasks in order. Returns how many tasks count: all of them, or those up to the first that returned false.
/// Rethrows the exception of the first task that threw one, unless an earlier task returned false.
std::size_t spread(const Spread& spread);

}  // namespace taso::cli
