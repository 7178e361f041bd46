// Proofs that are known already, kept in a file between runs. Only what is proved is kept, and it counts only for the same
// rule, the same properties, the same verifier and the same options; whatever else is found there is ignored.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "rules/language/rule.h"
#include "verifier/verify.h"

namespace taso::cli {

/// $XDG_CACHE_HOME/taso/proofs, or below ~/.cache; nothing where the user has no home.
std::optional<std::filesystem::path> default_cache_folder();

class ProofCache {
 public:
  /// Reads what is there. `properties` is their hash. Nothing is an error: a folder that cannot be read is empty.
  ProofCache(const std::filesystem::path& folder, const std::string& properties,
             const verifier::VerifyOptions& options);

  /// The verdict, if it is known. Safe for several threads.
  std::optional<verifier::RuleVerdict> find(const rules::Rule& rule, const std::string& hash) const;
  /// Kept if it is proved.
  void add(const rules::Rule& rule, const std::string& hash, const verifier::RuleVerdict& verdict);
  /// Writes what is new beside what other processes wrote meanwhile, all or nothing. Throws EnvironmentError.
  void save();

  const std::filesystem::path& file() const { return file_; }

 private:
  using Entries = std::map<std::string, std::string>;  // by key, what is known; both as JSON text
  Entries read() const;

  std::string context_;  // all that a proof depends on beside the rule
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  Entries known_, fresh_;
};

}  // namespace taso::cli
