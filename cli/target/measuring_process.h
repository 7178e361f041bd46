// A child process that answers commands, one line each. It is given a time limit, and its end is noticed.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cli {

class MeasuringProcess {
 public:
  /// Starts the command. Throws EnvironmentError if it cannot be started.
  explicit MeasuringProcess(const std::vector<std::string>& command);
  MeasuringProcess(const MeasuringProcess&) = delete;
  MeasuringProcess& operator=(const MeasuringProcess&) = delete;
  /// Ends the process, and all that it started.
  ~MeasuringProcess();

  /// Sends all parts. Throws EnvironmentError if the process has ended, or does not read them within the time.
  void send(std::initializer_list<std::string_view> parts, double seconds);
  /// The next line of its answers, without the end of the line. Throws EnvironmentError if there is none within the
  /// time, or if the process has ended.
  std::string answer(double seconds);

 private:
  [[noreturn]] void fail(std::string_view what);
  /// The last line that the process wrote to its error stream.
  std::string last_words() const;
  void end();

  std::string name_;
  std::FILE* errors_ = nullptr;
  int channel_ = -1;
  pid_t child_ = -1;
  std::string unread_;
};

}  // namespace taso::cli
