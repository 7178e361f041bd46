#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

#include "cli/ending.h"
#include "ops/onnx/atomic_file.h"

namespace taso {
namespace {

std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// Only what may be called in a signal handler is called here.
void handle(int signal) {
  const int error = errno;
  if (signal == SIGINT && !asked.exchange(true)) {
    constexpr std::string_view text = "\ninterrupted: finishing; once more to end at once\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    errno = error;
    return;
  }
  remove_temporary_files();
  if (signal == SIGINT) ::_exit(static_cast<int>(Ending::interrupted));
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
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), which says so
}

bool interrupted() { return asked; }

}  // namespace taso
