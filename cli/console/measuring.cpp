#include "cli/console/measuring.h"

#include <optional>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "ops/text/characters.h"

namespace taso::cli {
namespace {

class OnConsole : public pricing::Watcher {
 public:
  explicit OnConsole(Console& console) : console_(console) {}

  void note(std::string_view text) override { console_.say(Console::Level::detail, text); }
  void begin() override { line_.emplace(console_); }
  void progress(std::size_t done, std::size_t all) override {
    line_->show([&] { return fmt::format("measuring: {} of {} kernels", with_commas(done), with_commas(all)); });
  }
  void end() override {
    console_.draw({});
    line_.reset();
  }
  bool goes_on() override { return !interrupted(); }

 private:
  Console& console_;
  std::optional<ProgressLine> line_;
};

}  // namespace

std::unique_ptr<pricing::Watcher> measuring_on(Console& console) { return std::make_unique<OnConsole>(console); }

}  // namespace taso::cli
