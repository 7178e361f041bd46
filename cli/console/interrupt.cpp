#include "cli/console/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "cli/console/exit_code.h"
#include "ops/support/atomic_file.h"

namespace taso::cli {
namespace {

std::atomic<bool> asked{false};
std::atomic<std::int64_t> asked_at{0};
std::atomic<const std::function<bool()>*> callers{nullptr};
std::string_view announcement = "\ninterrupted: finishing; interrupt again to quit at once\n";  // set before a signal
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "set in a signal handler");

/// timeout(1) signals the program and then its process group. The same signal twice within this time counts once.
constexpr std::int64_t moment = 300;

std::int64_t milliseconds_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// Calls only async-signal-safe functions.
void handle(int signal) {
  const int error = errno;
  const bool asks = signal == SIGINT || signal == SIGTERM;
  if (asks && !asked.exchange(true)) {
    asked_at = milliseconds_now();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, announcement.data(), announcement.size());
    errno = error;
    return;
  }
  if (asks && milliseconds_now() - asked_at < moment) {
    errno = error;
    return;
  }
  // A model and its weights are renamed together first.
  if (asks && Commit::defers_exit(static_cast<int>(ExitCode::interrupted))) {
    errno = error;
    return;
  }
  remove_temporary_files();
  if (asks) ::_exit(static_cast<int>(ExitCode::interrupted));
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void watch(int signal) {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void watch_for_interrupt() {
  watch(SIGINT);
  watch(SIGTERM);
  watch(SIGHUP);
  watch(SIGPIPE);
  watch(SIGXCPU);
  ::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG, which is reported
}

bool interrupted() {
  const std::function<bool()>* const is_asked = callers.load(std::memory_order_relaxed);
  return asked || (is_asked != nullptr && *is_asked && (*is_asked)());
}

void announce_interrupts_by(std::string_view text) { announcement = text; }

StopWhen::StopWhen(std::function<bool()> is_asked) : is_asked_(std::move(is_asked)) { callers = &is_asked_; }
StopWhen::~StopWhen() { callers = nullptr; }

}  // namespace taso::cli
