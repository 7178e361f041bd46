// How far the generator has got: told by its threads, shown by the one that watches them.
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

  /// Safe for several threads.
  void update(const generator::GenerateProgress& progress);
  /// A line that is redrawn on a terminal, and every ten seconds a plain one elsewhere.
  void show();

 private:
  using Clock = std::chrono::steady_clock;

  ProgressLine shown_;
  const std::size_t operators_;
  Clock::time_point phase_start_ = Clock::now();
  std::size_t phase_done_ = 0;  // when the phase was first heard of
  generator::GenerateProgress last_;
  std::mutex mutex_;
};

/// On one line, of which a narrow terminal shows the beginning: "proving 12 of 60; 12 s, about 40 s left; 80 MB; 8
/// proved, 2 derived; 1,234 graphs, 200 classes".
std::string line_of(const generator::GenerateProgress& progress, std::size_t operators, std::uint64_t memory,
                    double seconds, double seconds_left);
/// "12 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);

}  // namespace taso::cli
