#include "cli/console/progress_line.h"

namespace taso::cli {

void ProgressLine::show(const std::function<std::string()>& line) {
  const auto now = Clock::now();
  const auto pause = console_.is_live() ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
  if (now - said_ < pause) return;
  said_ = now;
  if (console_.is_live())
    console_.draw(line());
  else
    console_.say(Console::Level::result, line());
}

double ProgressLine::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

}  // namespace taso::cli
