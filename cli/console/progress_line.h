// How far a long piece of work has got: a line that is redrawn on a terminal, and every ten seconds a plain one elsewhere.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/console/console.h"

namespace taso::cli {

class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console) {}

  /// Says the line if the last one is old enough; asks for it only then. On a terminal the first is drawn at once.
  void show(const std::function<std::string()>& line);
  double seconds() const;  ///< since it was made

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point said_ = console_.is_live() ? Clock::time_point() : start_;
};

}  // namespace taso::cli
