// Keeps the results of long stages of a run in files, one for each, in a folder beside the checkpoint.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace taso::cli {

/// A file begins with the format, a hash of what the run depends on, the stage's name and a hash of the contents. It is
/// written under a temporary name and renamed. Thread-safe.
class StageFiles {
 public:
  /// The files of an earlier run are read with `resume`, and removed without. Throws UsageError if there are some of a
  /// run with another context; EnvironmentError if they cannot be removed. The folder is made when it is needed.
  StageFiles(std::filesystem::path folder, const std::string& context, bool resume);

  /// Nothing if there is none, or if it is damaged.
  std::optional<std::string> load(const std::string& stage);
  /// Throws EnvironmentError.
  void save(const std::string& stage, const std::string& state);
  void forget(const std::string& stage);
  /// Removes all of them, when the run is done.
  void remove();

  /// Whether a run can continue from a stage.
  bool is_useful() const;
  /// The stages that were damaged.
  std::vector<std::string> damaged() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path file_of(const std::string& stage) const;
  std::vector<std::filesystem::path> files() const;
  /// What a file of this run and stage begins with, before the hash of the contents.
  std::string head_of(const std::string& stage) const;

  std::filesystem::path folder_;
  std::string head_;
  mutable std::mutex mutex_;
  std::vector<std::string> damaged_;
};

}  // namespace taso::cli
