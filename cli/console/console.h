// Messages for people: on stderr up to the verbosity that was asked for, in the log file all of them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace taso::cli {

class Console {
 public:
  enum class Color { automatic, always, never };
  enum class Level { error = -2, warning = -1, result = 0, detail = 1, trace = 2 };
  struct Options {
    std::string program;
    int verbosity = 0;  ///< -v adds one, -q subtracts one
    Color color = Color::automatic;
    std::optional<std::filesystem::path> log_file;
    /// Gets all messages, instead of stderr: for a library.
    std::function<void(Level, std::string_view)> listener = {};
  };

  /// Opens the log file; throws EnvironmentError if it cannot be written. A file that is not empty stays unchanged
  /// until begin_log(), because it may turn out not to be a log.
  explicit Console(Options options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  /// Starts writing the log, beginning with the messages so far.
  void begin_log();
  /// Lines of text. A message above the verbosity goes to the log only.
  void say(Level level, std::string_view text);
  /// "program: error: text"
  void error(std::string_view text);
  void warning(std::string_view text);
  /// PASSED in green, FAILED in red; the log has no colour.
  void verdict(bool good, std::string_view word);
  /// Whether stderr is a terminal and the verbosity allows a progress line.
  bool is_live() const { return live_; }
  /// Replaces the live line, on a terminal only. An empty text removes it, and so does any other message.
  void draw(std::string_view line);

  /// Throws EnvironmentError if part of the log could not be written.
  void close();

 private:
  void complain(Level level, std::string_view word, std::string_view color, std::string_view text);
  void show(Level level, std::string_view plain, std::string_view shown);
  void log(std::string_view text);
  void write_log(std::string_view text);
  std::string paint(std::string_view code, std::string_view text) const;

  Options options_;
  bool colored_ = false;
  bool live_ = false;
  std::string drawn_;  // the live line on the screen now
  std::FILE* log_ = nullptr;
  bool holding_ = false;  // text for the log waits for begin_log()
  std::string held_;
  bool log_failed_ = false;
};

}  // namespace taso::cli
