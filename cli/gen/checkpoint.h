// Keeps the decisions of a run in a file: if the run is killed, the next one continues from there.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "generator/generate.h"

namespace taso::cli {

/// Lines are only appended: the format, what the run depends on, a hash of the candidates, then the decisions, each
/// with a checksum. Everything after the first incomplete line is dropped.
class Checkpoint {
 public:
  /// `context` is a JSON object of everything that decisions depend on besides the candidate. An earlier checkpoint is
  /// read with `resume`, and replaced without. Throws UsageError if there is one with another context, or a file that
  /// is not a checkpoint; EnvironmentError if it cannot be written, or another run uses it.
  Checkpoint(std::filesystem::path file, std::string context, bool resume);
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  /// Keeps the file if a run can continue from it.
  ~Checkpoint();

  /// Takes a hash of all candidates; decisions on other candidates are forgotten.
  void begin(const std::string& candidates);
  /// This and remember() are thread-safe.
  std::optional<generator::Decision> recall(const std::string& candidate) const;
  /// Throws EnvironmentError, for example if the disk is full; what was written before stays complete.
  void remember(const std::string& candidate, const generator::Decision& decision);

  /// The number of decisions of an earlier run.
  std::size_t known() const { return known_.size(); }
  /// Whether an earlier checkpoint is replaced.
  bool replaced() const { return replaced_; }
  /// Whether the file goes on after what could be read, with an incomplete line.
  bool is_damaged() const { return is_damaged_; }
  /// Whether a run can continue from it.
  bool is_useful() const;
  const std::filesystem::path& file() const { return file_; }
  /// Deletes the file when all is done.
  void remove();

 private:
  void open();
  void read();
  void begin_file();
  void append(const std::string& line);
  void cut(std::size_t size);

  std::filesystem::path file_;
  std::string context_;
  int descriptor_ = -1;
  std::size_t size_ = 0;         // of the complete lines
  std::size_t header_size_ = 0;  // of the lines before the candidates
  std::string candidates_;       // of the run that wrote the decisions
  std::map<std::string, std::string> known_;
  std::size_t written_ = 0;
  bool replaced_ = false, is_damaged_ = false;
  mutable std::mutex mutex_;
};

}  // namespace taso::cli
