// What a program says to people: on stderr as much as was asked for, in the log file everything.
#pragma once

#include <cstdio>
#include <filesystem>
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
    int verbosity = 0;  ///< -v counts up, -q down
    Color color = Color::automatic;
    std::optional<std::filesystem::path> log_file;
  };

  /// Opens the log file, and throws EnvironmentError when it cannot be written. A file that has something in it is left
  /// alone until begin_log(): it may turn out to be no log.
  explicit Console(Options options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  /// From now on the log is written, with what was said before.
  void begin_log();
  /// Lines of text; nothing that is of a level above the verbosity.
  void say(Level level, std::string_view text);
  /// "program: error: text"
  void error(std::string_view text);
  void warning(std::string_view text);
  /// PASSED in green, FAILED in red; the log has it without colour.
  void verdict(bool good, std::string_view word);
  /// Whether there is a terminal to draw on and somebody wants to see it.
  bool is_live() const { return live_; }
  /// Replaces the live line, on a terminal only; it goes when anything else is said. Empty takes it away.
  void draw(std::string_view line);

  /// Throws EnvironmentError when something could not be written to the log file.
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
  std::string drawn_;  // the live line that stands there
  std::FILE* log_ = nullptr;
  bool holding_ = false;  // the log's text is kept until begin_log()
  std::string held_;
  bool log_failed_ = false;
};

}  // namespace taso::cli
