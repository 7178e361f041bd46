#include "runtime/api/process_end.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "ops/core/error.h"
#include "runtime/gpu/device.h"

extern "C" {
extern void* __dso_handle;                                               // NOLINT: names of the C++ ABI
int __real___cxa_atexit(void (*end)(void*), void* object, void* owner);  // NOLINT
/// Takes the place of the ABI's function in this library: static objects are never destroyed.
int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }  // NOLINT
}

namespace taso::runtime {
namespace {

/// What a run needs at most, usually. A caller's function that waits for the ending thread must not stop it for good.
constexpr std::chrono::seconds longest_wait{2};

std::atomic<int> under_way = 0;
std::atomic<bool> is_ending = false;
thread_local int nested = 0;  // calls of this thread: it cannot wait for itself

void wait_for_calls(void*) {
  is_ending = true;
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  while (under_way > nested && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void wait_at_exit() { __real___cxa_atexit(wait_for_calls, nullptr, &__dso_handle); }

}  // namespace

bool process_is_ending() { return is_ending; }

CallUnderWay::CallUnderWay() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::pthread_atfork(nullptr, nullptr, [] { under_way = nested; });  // a child has no other threads
    wait_at_exit();
  });
  ++under_way;
  ++nested;
  if (!is_ending) return;
  --under_way;
  --nested;
  throw EnvironmentError("the process is ending");
}

CallUnderWay::~CallUnderWay() {
  // exit() undoes the latest first: CUDA's libraries, if this call loaded them, must not end before all calls have.
  static std::once_flag once;
  if (gpu::module_is_open()) std::call_once(once, wait_at_exit);
  --under_way;
  --nested;
}

}  // namespace taso::runtime
