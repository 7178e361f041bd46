#include "cli/cluster/supervise.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/console/exit_code.h"
#include "ops/cluster/join.h"

namespace taso::cli {

std::optional<int> end_of_supervised(char** arguments, const char* advice) {
  constexpr const char* mark = "TASO_SUPERVISED";
  if (!is_started_as_rank() || std::getenv(mark) != nullptr) return std::nullopt;
  ::setenv(mark, "1", 1);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) {
    ::unsetenv(mark);
    return std::nullopt;  // without a supervisor, mpirun reports the signal itself
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::environment));
    ::execv("/proc/self/exe", arguments);
    ::_exit(static_cast<int>(ExitCode::environment));
  }
  // Such programs signal the whole group, and the child knows what to do.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "%s: error: a rank was ended by a signal (%s)%s\n", program_invocation_short_name,
               ::strsignal(WTERMSIG(status)), advice);
  return static_cast<int>(ExitCode::environment);
}

}  // namespace taso::cli
