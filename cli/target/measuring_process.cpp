#include "cli/target/measuring_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "cli/console/child_process.h"
#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {
namespace {

using MeasuringClock = std::chrono::steady_clock;

/// Waits until something can be read or written. False at the end of the time.
bool wait_for(int channel, short what, MeasuringClock::time_point end) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - MeasuringClock::now()).count();
    if (left <= 0) return false;
    pollfd ready{channel, what, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

MeasuringClock::time_point after(double seconds) {
  return MeasuringClock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1000));
}

}  // namespace

MeasuringProcess::MeasuringProcess(const std::vector<std::string>& command) : name_(command.at(0)) {
  // A socket, because writing to one whose reader has ended can be an error instead of a signal.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw EnvironmentError(fmt::format("cannot make a channel to {}: {}", name_, std::strerror(errno)));
  channel_ = ends[0];
  errors_ = std::tmpfile();
  try {
    child_ = start_child(command, ends[1], ends[1], errors_ != nullptr ? ::fileno(errors_) : -1);
  } catch (const EnvironmentError&) {
    ::close(ends[1]);
    end();
    throw;
  }
  ::close(ends[1]);
}

MeasuringProcess::~MeasuringProcess() { end(); }

void MeasuringProcess::end() {
  if (channel_ >= 0) ::close(channel_);
  channel_ = -1;
  if (child_ > 0) {
    ::kill(-child_, SIGKILL);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  child_ = -1;
  if (errors_ != nullptr) std::fclose(errors_);
  errors_ = nullptr;
}

std::string MeasuringProcess::last_words() const {
  if (errors_ == nullptr) return "";
  constexpr off_t most = 4096;
  const int file = ::fileno(errors_);
  const off_t size = ::lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, most)), '\0');
  const ssize_t count = ::pread(file, text.data(), text.size(), std::max<off_t>(0, size - most));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return on_one_line(text.substr(text.find_last_of('\n') + 1));
}

void MeasuringProcess::fail(std::string_view what) {
  const std::string words = last_words();
  throw EnvironmentError(fmt::format("{} {}{}{}", name_, what, words.empty() ? "" : ": ", words));
}

void MeasuringProcess::send(std::initializer_list<std::string_view> parts, double seconds) {
  const auto limit = after(seconds);
  for (std::string_view part : parts)
    while (!part.empty()) {
      const ssize_t count = ::send(channel_, part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        part.remove_prefix(static_cast<std::size_t>(count));
      } else if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        fail("has ended unexpectedly");
      } else if (!wait_for(channel_, POLLOUT, limit)) {
        fail(fmt::format("did not read a model within {:g} s", seconds));
      }
    }
}

std::string MeasuringProcess::answer(double seconds) {
  const auto limit = after(seconds);
  std::array<char, 65536> buffer{};
  for (;;) {
    if (const std::size_t at = unread_.find('\n'); at != std::string::npos) {
      std::string line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      return line;
    }
    if (!wait_for(channel_, POLLIN, limit)) fail(fmt::format("did not answer within {:g} s", seconds));
    const ssize_t count = ::recv(channel_, buffer.data(), buffer.size(), 0);
    if (count == 0 || (count < 0 && errno != EINTR)) fail("has ended unexpectedly");
    if (count > 0) unread_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace taso::cli
