// The progress of the generator: its threads report it, the watching thread shows it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "cli/console/progress_line.h"
#include "generator/generate.h"

namespace taso::cli {

class GenProgress {
 public:
  GenProgress(Console& console, std::size_t operators) : shown_(console), operators_(operators) {}

  /// Thread-safe.
  void update(const generator::GenerateProgress& progress);
  /// Redraws a line on a terminal, and prints a plain one every ten seconds elsewhere.
  void show();

 private:
  using Clock = std::chrono::steady_clock;

  ProgressLine shown_;
  const std::size_t operators_;
  Clock::time_point phase_start_ = Clock::now();
  std::size_t phase_done_ = 0;  // when the phase began
  generator::GenerateProgress last_;
  std::mutex mutex_;
};

/// The progress on one line, whose beginning a narrow terminal shows: "proving 12 of 60; 12 s, about 40 s left; 80 MB;
/// 8 proved, 2 derived; 1,234 graphs, 200 classes".
std::string line_of(const generator::GenerateProgress& progress, std::size_t operators, std::uint64_t memory,
                    double seconds, double seconds_left);
/// "12 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);

}  // namespace taso::cli
