// Rule files as programs are given them: text or TASO's own files, and where in them each rule stands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ops/text/source.h"
#include "rules/instance/float_class.h"
#include "rules/language/rule_text.h"
#include "rules/taso/taso_file.h"

namespace taso::cli {

struct GivenFile {
  Source source;
  bool is_taso = false;  ///< TASO's binary format, which has no lines
  rules::RuleFile rules;
  std::vector<rules::UnstatedRule> unstated;  ///< of TASO's files
};

struct GivenRule {
  rules::Rule rule;
  std::size_t file = 0;       ///< which of the files
  std::size_t line = 0;       ///< 0 in a binary file
  std::string unstated = {};  ///< why it cannot be stated, a clause: there is a name only. Empty for all others
  std::optional<rules::FloatClass> float_class = {};  ///< if it is recorded
};

/// "-" is the standard input. Throws InputError that says why it cannot be read.
Source read_source(const std::filesystem::path& path);
/// "-" is the standard input. Throws PlacedError, or InputError if there is nothing to point at.
GivenFile read_rules(const std::filesystem::path& path);
/// The same for a file of properties: every item is an axiom.
GivenFile read_properties(const std::filesystem::path& path);

/// In the order of the files, with those that cannot be stated; laws as what they stand for, or as they are.
std::vector<GivenRule> rules_of(const std::vector<GivenFile>& files);
std::vector<GivenRule> laws_of(const std::vector<GivenFile>& files);
/// "file:line", or the file alone
std::string place_of(const GivenRule& rule, const std::vector<GivenFile>& files);

}  // namespace taso::cli
