// Runs another program without a shell, with text input, text output and a time limit.
#pragma once

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

}  // namespace taso::cli
