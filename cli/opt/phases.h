// The phases of a run of taso-opt: what is being done, and how long it took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console/console.h"

namespace taso::cli {

/// Says which phase begins, and adds up the time of each. A phase may come back.
class Phases {
 public:
  explicit Phases(Console& console) : console_(console) {}
  void begin(std::string name, std::string_view text);
  void end();
  /// By phase, in the order of their beginnings.
  const std::vector<std::pair<std::string, double>>& seconds() const { return seconds_; }

 private:
  Console& console_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
  std::vector<std::pair<std::string, double>> seconds_;
};

}  // namespace taso::cli
