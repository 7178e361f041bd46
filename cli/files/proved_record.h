// Which rule files were proved, and from what: what lets a program use them without proving them again. taso-verify writes
// the record, and only when it has proved everything in the files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cli {

struct ProvedFile {
  std::string name;        ///< for people; a file counts by its bytes, whatever it is called
  std::size_t rules = 0;   ///< how many there are in it
  std::string file_hash;   ///< of its bytes
  std::string rules_hash;  ///< of what the rules in it say, see hash_of_rules
  /// What each rule does to floating-point numbers, in the order of the file, see digit_of; empty if it was not
  /// recorded.
  std::string float_classes = {};
  bool operator==(const ProvedFile&) const = default;
};

struct ProvedRecord {
  unsigned verifier = 0;   ///< the revision that proved them
  std::string properties;  ///< the hash of those that the proofs rest on
  std::vector<ProvedFile> files;

  /// The file that has these bytes; null if it is not among the proved ones.
  const ProvedFile* find(std::string_view bytes) const;
  bool operator==(const ProvedRecord&) const = default;
};

/// JSON.
std::string text_of(const ProvedRecord& record);
/// Throws InputError.
ProvedRecord parse_record(std::string_view text);

/// The record that comes with taso. It counts only if this program's verifier and the properties that lie beside it are
/// those that it was made with.
std::optional<ProvedRecord> shipped_record();

}  // namespace taso::cli
