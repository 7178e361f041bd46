#include "cli/console/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

bool is_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool wants_color(Console::Color color) {
  if (color != Console::Color::automatic) return color == Console::Color::always;
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  return is_terminal();
}

/// A wrapped line could not be redrawn.
std::size_t terminal_width() {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - std::size_t{1};
}

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw EnvironmentError(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

}  // namespace

Console::Console(Options options)
    : options_(std::move(options)),
      colored_(wants_color(options_.color)),
      live_(options_.verbosity >= 0 && is_terminal()) {
  if (!options_.log_file) return;
  log_ = std::fopen(options_.log_file->c_str(), "ae");
  if (log_ == nullptr) fail(*options_.log_file, errno);
  std::error_code unknown;
  holding_ = std::filesystem::is_regular_file(*options_.log_file, unknown) &&
             std::filesystem::file_size(*options_.log_file, unknown) > 0;
  errno = 0;
  log(options_.program + " starts");
  if (log_failed_) {
    const int error = errno != 0 ? errno : ENOSPC;
    std::fclose(log_);
    log_ = nullptr;
    fail(*options_.log_file, error);
  }
}

Console::~Console() {
  draw({});
  if (log_ != nullptr) std::fclose(log_);
}

void Console::begin_log() {
  if (!std::exchange(holding_, false) || log_ == nullptr) return;
  write_log(std::exchange(held_, {}));
  if (log_failed_) throw EnvironmentError(fmt::format("cannot write {}", options_.log_file->string()));
}

void Console::say(Level level, std::string_view text) { show(level, text, text); }

void Console::error(std::string_view text) { complain(Level::error, "error:", "1;31", text); }

void Console::warning(std::string_view text) { complain(Level::warning, "warning:", "1;33", text); }

/// Names from a damaged file may hold any bytes.
void Console::complain(Level level, std::string_view word, std::string_view color, std::string_view text) {
  const std::string readable = on_lines(text);
  show(level, fmt::format("{}: {} {}", options_.program, word, readable),
       fmt::format("{}: {} {}", options_.program, paint(color, word), readable));
}

void Console::verdict(bool good, std::string_view word) {
  show(Level::result, word, paint(good ? "1;32" : "1;31", word));
}

void Console::draw(std::string_view line) {
  if (!live_ || line == drawn_) return;
  drawn_ = line.substr(0, terminal_width());
  const std::string text = "\r\x1b[K" + drawn_;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void Console::close() {
  if (log_ == nullptr) return;
  const bool closed = std::fclose(log_) == 0;
  log_ = nullptr;
  if (!closed || log_failed_)
    throw EnvironmentError(fmt::format("cannot write {}: part of the log is lost", options_.log_file->string()));
}

void Console::show(Level level, std::string_view plain, std::string_view shown) {
  log(plain);
  if (options_.listener) return options_.listener(level, plain);
  // Errors are always shown.
  if (level != Level::error && static_cast<int>(level) > options_.verbosity) return;
  draw({});
  const std::string line = fmt::format("{}\n", shown);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Console::log(std::string_view text) {
  if (log_ == nullptr) return;
  const std::string line = fmt::format("{:%Y-%m-%dT%H:%M:%SZ} {}\n", fmt::gmtime(std::time(nullptr)), text);
  if (holding_) {
    held_ += line;
  } else {
    write_log(line);
  }
}

void Console::write_log(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), log_) != text.size() || std::fflush(log_) != 0) log_failed_ = true;
}

std::string Console::paint(std::string_view code, std::string_view text) const {
  return colored_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace taso::cli
