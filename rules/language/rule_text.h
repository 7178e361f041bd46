// Rules as text: the one parser and the one printer of properties, candidates and proved rules. rules/README.md has the
// grammar.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/text/source.h"
#include "rules/language/rule.h"

namespace taso::rules {

/// A comment that stands by itself: an empty line follows it. Its lines, without '#'.
struct CommentBlock {
  std::vector<std::string> lines;
  bool operator==(const CommentBlock&) const = default;
};

struct RuleFile {
  std::string version = "1";
  std::vector<std::variant<CommentBlock, Rule>> items;  ///< in the order of the file, as they are said there

  /// As they are said: a law for a class of operators, or both ways, is one.
  std::vector<Rule> laws() const;
  /// What they stand for, see expanded().
  std::vector<Rule> rules() const;
};

/// Throws InputError with file, line, column and a caret at the first thing that is not as it should be: everything
/// that can be told of a rule without looking at shapes is checked here.
RuleFile parse_rules(const Source& source);
/// One rule, without the line that gives the version.
Rule parse_rule(std::string_view text);

/// Letters, digits, '-', '_' and '.', a letter or '_' first, and no word of the language.
bool is_rule_name(std::string_view name);

/// What parses to the same thing: an empty line between items, at most 120 columns as far as comments and names allow.
std::string print(const RuleFile& file);
/// A rule with its comments; the text ends with the line.
std::string print(const Rule& rule);

std::string_view text_of(Rule::Kind kind);    ///< "axiom", "candidate", "rule"
std::string_view arrow_of(const Rule& rule);  ///< between its sides: "=", "=>", "<=>"
/// On one line.
std::string text_of(const Pattern& pattern);
/// The results of one side, on one line; all results of one operator in a row are written as the operator.
std::string text_of(const std::vector<PatternPtr>& side);
std::string text_of(const Condition& condition);

}  // namespace taso::rules
