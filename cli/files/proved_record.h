// The record of proved rule files, which lets a program use them without proving them again. taso-verify writes it, and
// only if it proved every rule in the files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cli {

struct ProvedFile {
  std::string name;        ///< for people only; a file is identified by its bytes
  std::size_t rules = 0;   ///< the number of rules in it
  std::string file_hash;   ///< of its bytes
  std::string rules_hash;  ///< of the contents of its rules, see hash_of_rules
  /// The floating-point class of each rule, in the order of the file, see digit_of; empty if not recorded.
  std::string float_classes = {};
  /// By what each rule was proved, in the order of the file; empty for rules that say it themselves, after `by`.
  std::vector<std::vector<std::string>> by = {};
  bool operator==(const ProvedFile&) const = default;
};

struct ProvedRecord {
  unsigned verifier = 0;   ///< the revision of the verifier
  std::string properties;  ///< the hash of the properties that the proofs use
  std::vector<ProvedFile> files;

  /// The file with these bytes; null if it is not in the record.
  const ProvedFile* find(std::string_view bytes) const;
  bool operator==(const ProvedRecord&) const = default;
};

/// JSON.
std::string text_of(const ProvedRecord& record);
/// Throws InputError.
ProvedRecord parse_record(std::string_view text);

/// The shipped record. It is valid only if it was made with this program's verifier and with the properties beside it.
std::optional<ProvedRecord> shipped_record();

}  // namespace taso::cli
