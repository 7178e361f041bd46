// Runs another program without a shell: text in, text out, and an end to its time.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cli {

struct ChildResult {
  std::string output;      ///< what it wrote to its standard output and error
  int code = 0;            ///< its exit code; -1 if a signal ended it
  bool timed_out = false;  ///< or stopped: it was killed
};

/// Looks for the program in PATH unless it is a path. `seconds` 0 means no limit. Throws EnvironmentError when it cannot
/// be started.
ChildResult run_child(const std::vector<std::string>& command, std::string_view input, double seconds,
                      const std::stop_token& stop = {});

}  // namespace taso::cli
