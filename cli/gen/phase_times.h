// How long each phase of a run took: enumerating, pruning, proving.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace taso::cli {

class PhaseTimes {
 public:
  /// A phase reports after each of its steps: the time since the last report is its own. Its kind is the first word.
  void update(const std::string& phase) {
    const auto now = Clock::now();
    seconds_[phase.substr(0, phase.find(' '))] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  std::map<std::string, double> seconds_;
};

}  // namespace taso::cli
