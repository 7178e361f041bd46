#include "cli/opt/phases.h"

#include <algorithm>
#include <utility>

namespace taso::cli {

void Phases::begin(std::string name, std::string_view text) {
  end();
  name_ = std::move(name);
  start_ = std::chrono::steady_clock::now();
  console_.say(Console::Level::detail, text);
}

void Phases::end() {
  if (name_.empty()) return;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
  const auto known =
      std::find_if(seconds_.begin(), seconds_.end(), [&](const auto& phase) { return phase.first == name_; });
  if (known != seconds_.end())
    known->second += time.count();
  else
    seconds_.emplace_back(std::move(name_), time.count());
  name_.clear();
}

}  // namespace taso::cli
