// Runs another program without a shell, with text input, text output and a time limit.
#pragma once

#include <sys/types.h>

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cli {

struct ChildResult {
  std::string output;      ///< its standard output and standard error
  int code = 0;            ///< its exit code; -1 if a signal ended it
  bool timed_out = false;  ///< killed: timed out or stopped
};

/// Looks for the program in PATH unless it is a path. `seconds` 0 means no limit. Throws EnvironmentError if it cannot
/// start.
ChildResult run_child(const std::vector<std::string>& command, std::string_view input, double seconds,
                      const std::stop_token& stop = {});

/// Starts a program with the default signal handling in a process group of its own. The numbers are open files; a
/// negative one for `errors` leaves the standard error as it is. Throws EnvironmentError if it cannot start.
pid_t start_child(const std::vector<std::string>& command, int input, int output, int errors);

}  // namespace taso::cli
