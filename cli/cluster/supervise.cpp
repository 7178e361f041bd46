#include "cli/cluster/supervise.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "ops/cluster/join.h"

namespace taso::cli {
namespace {

constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP};

pid_t supervised = 0;
volatile std::sig_atomic_t is_asked_to_end = 0;

void pass_on(int signal) {
  is_asked_to_end = 1;
  ::kill(supervised, signal);
}

/// Keeps those signals back that are passed on, as long as it exists.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : passed_on) ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;
  ~SignalsHeldBack() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// As fork(): the child ends with this process, which passes signals on to it.
pid_t start_child_process() {
  const SignalsHeldBack until_there_is_a_child;
  const pid_t parent = ::getpid();
  supervised = ::fork();
  if (supervised == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::environment));
  }
  if (supervised > 0)
    for (const int signal : passed_on) ::signal(signal, pass_on);
  return supervised;
}

}  // namespace

std::optional<int> end_of_supervised(char** arguments, const char* advice) {
  constexpr const char* mark = "TASO_SUPERVISED";
  if (!is_started_as_rank()) return std::nullopt;
  if (std::getenv(mark) != nullptr) {
    ::prctl(PR_SET_NAME, program_invocation_short_name);  // not "exe": people look for it by its name
    // Messages are for all ranks, so one of them is enough. mpirun ends the others of a job that fails by a signal.
    if (ops::started_rank() == "0")
      announce_interrupts_by("\nasked to end: finishing\n");
    else
      speak_after_another();
    return std::nullopt;
  }
  ::setenv(mark, "1", 1);
  const pid_t child = start_child_process();
  if (child < 0) {
    ::unsetenv(mark);
    return std::nullopt;  // without a supervisor, mpirun reports the signal itself
  }
  if (child == 0) {
    ::execv("/proc/self/exe", arguments);
    ::_exit(static_cast<int>(ExitCode::environment));
  }
  ::prctl(PR_SET_NAME, "taso-rank");  // who ends the programs by their name does not mean this one
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  // What ends after that is not the reason.
  if (is_asked_to_end == 0)
    std::fprintf(stderr, "%s: error: rank %s was ended by a signal (%s)%s\n", program_invocation_short_name,
                 ops::started_rank().c_str(), ::strsignal(WTERMSIG(status)), advice);
  return static_cast<int>(ExitCode::environment);
}

}  // namespace taso::cli
