// The phases of a run of taso-opt: what is being done, and how long it took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/console/console.h"
#include "cli/opt/summary.h"

namespace taso::cli {

/// Says which phase begins, and adds its time to the summary when it ends. A phase may come back.
class Phases {
 public:
  Phases(Console& console, Summary& summary) : console_(console), summary_(summary) {}
  ~Phases() { end(); }
  void begin(std::string name, std::string_view text);
  void end();

 private:
  Console& console_;
  Summary& summary_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace taso::cli
