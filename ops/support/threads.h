// Parallel loops. Work is divided by its own size and never by the number of threads, so the result is the same to the
// last bit for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "ops/core/namespace.h"

namespace taso::ops {

/// A callable that is not owned. It is cheaper than std::function, and the caller waits for it anyway.
class TaskBody {
 public:
  template <class F>
  explicit TaskBody(F& function)
      : object_(static_cast<const void*>(&function)),
        call_([](const void* object, std::int64_t task) { (*static_cast<std::add_const_t<F>*>(object))(task); }) {}
  void operator()(std::int64_t task) const { call_(object_, task); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t);
};

/// `asked` threads, or as many as the machine has if 0; at most 256.
unsigned thread_count(unsigned asked);

void run_tasks(unsigned threads, std::int64_t tasks, const TaskBody& body);

/// Calls body(task) once for every task from 0 to `tasks`, which is excluded, on up to `threads` threads, and waits.
/// Rethrows what a task throws. The whole program shares the threads; a caller that finds them busy works alone.
template <class F>
void parallel_for(unsigned threads, std::int64_t tasks, const F& body) {
  if (threads <= 1 || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task);
  } else {
    run_tasks(threads, tasks, TaskBody(body));
  }
}

/// Calls body(begin, end) on ranges of `grain` numbers that cover 0 to `count`, which is excluded.
template <class F>
void parallel_ranges(unsigned threads, std::int64_t count, std::int64_t grain, const F& body) {
  grain = std::max<std::int64_t>(grain, 1);
  parallel_for(threads, count / grain + (count % grain != 0),
               [&](std::int64_t task) { body(task * grain, std::min(count, (task + 1) * grain)); });
}

}  // namespace taso::ops
