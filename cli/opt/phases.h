// The phases of a taso-opt run and the time each took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console/console.h"

namespace taso::cli {

/// Announces each phase and adds up its time. A phase may occur more than once.
class Phases {
 public:
  explicit Phases(Console& console) : console_(console) {}
  void begin(std::string name, std::string_view text);
  void end();
  /// By phase, in the order of their first start.
  const std::vector<std::pair<std::string, double>>& seconds() const { return seconds_; }

 private:
  Console& console_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
  std::vector<std::pair<std::string, double>> seconds_;
};

}  // namespace taso::cli
