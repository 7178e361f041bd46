// Progress of long work: a line redrawn on a terminal, elsewhere a plain line every ten seconds.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/console/console.h"

namespace taso::cli {

class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console) {}

  /// Shows the line if the last one is old enough; calls `line` only then. On a terminal the first line appears at
  /// once.
  void show(const std::function<std::string()>& line);
  double seconds() const;  ///< since construction

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point said_ = console_.is_live() ? Clock::time_point() : start_;
};

}  // namespace taso::cli
