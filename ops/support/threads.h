// Parallel loops, on threads that the whole program shares. Work is divided by its own size and never by the number of
// threads, so the result is the same to the last bit for any number of threads.
//
// Why not oneTBB: if the system refuses a thread, oneTBB 2021.8 aborts the program (tried with `prlimit --nproc=3`, and
// with 64 threads under `ulimit -v 150000`), while these loops go on with the threads that exist. It also starts tasks
// in no fixed order and reports any one of several errors, so parallel_until() would have to be written all the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <type_traits>

#include "ops/core/namespace.h"

namespace taso::ops {

/// A callable that is not owned. It is cheaper than std::function, and the caller waits for it anyway.
class TaskBody {
 public:
  template <class F>
  explicit TaskBody(F& function)
      : object_(static_cast<const void*>(&function)), call_([](const void* object, std::int64_t task) -> bool {
          return (*static_cast<std::add_const_t<F>*>(object))(task);
        }) {}
  /// False if this task is to be the last one.
  bool operator()(std::int64_t task) const { return call_(object_, task); }

 private:
  const void* object_;
  bool (*call_)(const void*, std::int64_t);
};

/// `asked` threads, or as many as the machine has if 0; at most 256.
unsigned thread_count(unsigned asked);

/// What the loops below are made of. Returns how many tasks count: all, or those up to the first that returned false.
std::int64_t run_tasks(unsigned threads, std::int64_t tasks, const TaskBody& body);

/// Calls body(task) once for every task from 0 to `tasks`, which is excluded, on up to `threads` threads, and waits.
/// Tasks start in order. A task that throws ends the loop; of several, the first task's exception is rethrown. The
/// threads stay, with what they keep for themselves (a solver's context, say). A caller that finds them busy works
/// alone, and so does a task with a loop of its own.
template <class F>
void parallel_for(unsigned threads, std::int64_t tasks, const F& body) {
  if (threads <= 1 || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) body(task);
  } else {
    const auto run = [&](std::int64_t task) {
      body(task);
      return true;
    };
    run_tasks(threads, tasks, TaskBody(run));
  }
}

/// The same, but starts no more tasks after a request to stop.
template <class F>
void parallel_for(unsigned threads, std::int64_t tasks, const std::stop_token& stop, const F& body) {
  parallel_for(threads, tasks, [&](std::int64_t task) {
    if (!stop.stop_requested()) body(task);
  });
}

/// Calls body(begin, end) on ranges of `grain` numbers that cover 0 to `count`, which is excluded.
template <class F>
void parallel_ranges(unsigned threads, std::int64_t count, std::int64_t grain, const F& body) {
  grain = std::max<std::int64_t>(grain, 1);
  parallel_for(threads, count / grain + (count % grain != 0),
               [&](std::int64_t task) { body(task * grain, std::min(count, (task + 1) * grain)); });
}

/// Calls body(task, stop) for the tasks in order until one returns false or throws. Earlier tasks are finished; later
/// ones are asked to stop and do not count. So the result does not depend on the number of threads. Returns how many
/// tasks count, or rethrows the exception of the last of them. A request to stop reaches all tasks.
std::int64_t parallel_until(unsigned threads, std::int64_t tasks, const std::stop_token& stop,
                            const std::function<bool(std::int64_t task, const std::stop_token& stop)>& body);

/// Calls work() on a thread of its own. Meanwhile the calling thread calls watch() several times a second and once at
/// the end. If watch() throws, requests `stop`, waits for the end of the work and rethrows.
void run_watched(const std::stop_source& stop, const std::function<void()>& work, const std::function<void()>& watch);

}  // namespace taso::ops
