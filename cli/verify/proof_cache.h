// Keeps known proofs in a file between runs. Only proved rules are kept, and a proof counts only for the same rule,
// properties, verifier and options; all other contents are ignored.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "rules/language/rule.h"
#include "verifier/verify.h"

namespace taso::cli {

/// $XDG_CACHE_HOME/taso/proofs, or below ~/.cache; nothing if the user has no home.
std::optional<std::filesystem::path> default_cache_folder();

class ProofCache {
 public:
  /// Reads the cache. `properties` is their hash. Never fails: an unreadable folder counts as empty.
  ProofCache(const std::filesystem::path& folder, const std::string& properties,
             const verifier::VerifyOptions& options);

  /// The verdict, if it is known. Thread-safe.
  std::optional<verifier::RuleVerdict> find(const rules::Rule& rule, const std::string& hash) const;
  /// Keeps the verdict if it is a proof.
  void add(const rules::Rule& rule, const std::string& hash, const verifier::RuleVerdict& verdict);
  /// Merges the new entries with those that other processes wrote meanwhile, and writes all or nothing. Throws
  /// EnvironmentError.
  void save();

  const std::filesystem::path& file() const { return file_; }

 private:
  using Entries = std::map<std::string, std::string>;  // facts by key, both as JSON text
  Entries read() const;

  std::string context_;  // everything but the rule that a proof depends on
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  Entries known_, fresh_;
};

}  // namespace taso::cli
