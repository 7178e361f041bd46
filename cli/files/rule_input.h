// Rule files given to a program: text or TASO's binary format, with the position of each rule.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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
  std::vector<rules::UnstatedRule> unstated;  ///< in TASO's files only
};

struct GivenRule {
  rules::Rule rule;
  std::size_t file = 0;       ///< index of the file
  std::size_t line = 0;       ///< 0 in a binary file
  std::string unstated = {};  ///< why the rule cannot be stated, as a clause: only its name is known; empty for all
                              ///< others
  std::optional<rules::FloatClass> float_class = {};  ///< if recorded
  std::vector<std::string> by = {};                   ///< by what it was proved, if that is recorded, not stated
};

/// "-" is the standard input. Throws InputError with the reason if it cannot be read.
Source read_source(const std::filesystem::path& path);
/// "-" is the standard input. Throws PlacedError, or InputError if there is no position.
GivenFile read_rules(const std::filesystem::path& path);
/// The same for a property file: every item must be an axiom.
GivenFile read_properties(const std::filesystem::path& path);

/// In the order of the files, including rules that cannot be stated; laws as the rules that they stand for.
std::vector<GivenRule> rules_of(const std::vector<GivenFile>& files);
/// The same, with each law as it is stated.
std::vector<GivenRule> laws_of(const std::vector<GivenFile>& files);
/// The rule with that name or, counted from 1, that number. Throws UsageError, which begins with the flag.
const GivenRule& rule_named(const std::vector<GivenRule>& rules, const std::string& wanted, std::string_view flag);
/// "file:line", or the file alone
std::string place_of(const GivenRule& rule, const std::vector<GivenFile>& files);

}  // namespace taso::cli
