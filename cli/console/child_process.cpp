#include "cli/console/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "ops/core/error.h"

extern char** environ;

namespace taso::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer than any real answer; the rest is read and dropped.
constexpr std::size_t longest_output = std::size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

[[noreturn]] void fail(std::string_view doing, int error) {
  throw EnvironmentError(fmt::format("{}: {}", doing, std::strerror(error)));
}

/// A temporary file instead of a pipe, so that nothing blocks, however slowly the child reads.
int input_file(std::string_view input) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) fail("cannot make a temporary file", errno);
  const bool written = std::fwrite(input.data(), 1, input.size(), file) == input.size() && std::fflush(file) == 0;
  const int copy = written ? ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
  const int error = errno;
  std::fclose(file);
  if (copy < 0) fail("cannot write a temporary file", error);
  ::lseek(copy, 0, SEEK_SET);
  return copy;
}

}  // namespace

pid_t start_child(const std::vector<std::string>& command, int input, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (errors >= 0) ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  sigset_t ordinary, none;
  ::sigemptyset(&none);
  ::sigemptyset(&ordinary);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU, SIGXFSZ}) ::sigaddset(&ordinary, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &ordinary);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  // An own process group: Ctrl-C goes to taso, which ends the child.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(fmt::format("cannot run {}", command[0]), error);
  return child;
}

ChildResult run_child(const std::vector<std::string>& command, std::string_view input, double seconds,
                      const std::stop_token& stop) {
  check(!command.empty(), "a command has a program");
  const Descriptor given(input_file(input));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  const Descriptor answers(ends[0]);
  Descriptor output(ends[1]);
  const pid_t child = start_child(command, given.number(), output.number(), output.number());
  output.close();

  ChildResult result;
  const auto begin = Clock::now();
  std::array<char, 4096> buffer{};
  while (true) {
    const std::chrono::duration<double> time = Clock::now() - begin;
    if (stop.stop_requested() || (seconds > 0 && time.count() > seconds)) {
      result.timed_out = true;
      ::kill(-child, SIGKILL);
      break;
    }
    pollfd ready{answers.number(), POLLIN, 0};
    const int found = ::poll(&ready, 1, 50);
    if (found < 0 && errno != EINTR) break;
    if (found <= 0) continue;
    const ssize_t count = ::read(answers.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (result.output.size() < longest_output) result.output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("cannot wait for a program", errno);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace taso::cli
