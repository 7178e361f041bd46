// What a run has decided so far, in a file that survives it: killed at any moment, the next run goes on from there.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "generator/generate.h"

namespace taso::cli {

/// Lines that are only ever appended: the format, what the run depends on, a hash of the candidates, then the
/// decisions, each with a checksum. Whatever comes after the first line that is not whole is dropped.
class Checkpoint {
 public:
  /// `context` is a JSON object of everything that decisions depend on beside the candidate. An earlier checkpoint is
  /// read with `resume` and replaced without. Throws UsageError if there is one of another context, or a file that is
  /// no checkpoint; EnvironmentError if it cannot be written, or another run has it.
  Checkpoint(std::filesystem::path file, std::string context, bool resume);
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  /// The file stays if there is something in it to go on from.
  ~Checkpoint();

  /// Of all candidates; decisions on others are forgotten.
  void begin(const std::string& candidates);
  /// Both are safe for several threads.
  std::optional<generator::Decision> recall(const std::string& candidate) const;
  /// Throws EnvironmentError, for example when the disk is full; what was written before stays whole.
  void remember(const std::string& candidate, const generator::Decision& decision);

  /// How many decisions of an earlier run there are.
  std::size_t known() const { return known_.size(); }
  /// Whether there was an earlier checkpoint that is replaced.
  bool replaced() const { return replaced_; }
  /// Whether something stands after what could be read: a line that is not whole, and whatever follows it.
  bool is_damaged() const { return is_damaged_; }
  /// Whether there is something to go on from.
  bool is_useful() const;
  const std::filesystem::path& file() const { return file_; }
  /// All is done: the file goes.
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
  std::size_t size_ = 0;         // of what is whole
  std::size_t header_size_ = 0;  // of the lines before the candidates
  std::string candidates_;       // of the run that wrote the decisions
  std::map<std::string, std::string> known_;
  std::size_t written_ = 0;
  bool replaced_ = false, is_damaged_ = false;
  mutable std::mutex mutex_;
};

}  // namespace taso::cli
