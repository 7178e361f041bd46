// Rules as text: the only parser and printer of properties, candidates and proved rules. rules/README.md has the
// grammar.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/text/source.h"
#include "rules/language/definition.h"
#include "rules/language/rule.h"

namespace taso::rules {

/// A comment that stands by itself, because an empty line follows it. Its lines, without '#'.
struct CommentBlock {
  std::vector<std::string> lines;
  bool operator==(const CommentBlock&) const = default;
};

struct RuleFile {
  std::string version = "1";
  /// In the order of the file, as written; but what rules have by definition is replaced.
  std::vector<std::variant<CommentBlock, Rule, Definition>> items;

  /// The rules as written: a law for a class of operators, or in both directions, is one.
  std::vector<Rule> laws() const;
  /// The rules that they stand for, see expanded().
  std::vector<Rule> rules() const;
};

/// Throws InputError with file, line, column and a caret at the first mistake: everything that can be checked without
/// shapes is checked here.
RuleFile parse_rules(const Source& source);
/// One rule, without the version line.
Rule parse_rule(std::string_view text);

/// Letters, digits, '-', '_' and '.', beginning with a letter or '_', and not a keyword.
bool is_rule_name(std::string_view name);

/// Text that parses to the same file: an empty line between items, at most 120 columns as far as comments and names
/// allow.
std::string print(const RuleFile& file);
/// A rule with its comments; ends with a newline.
std::string print(const Rule& rule);
std::string print(const Definition& definition);

std::string_view text_of(Rule::Kind kind);    ///< "axiom", "candidate", "rule"
std::string_view arrow_of(const Rule& rule);  ///< between its sides: "=", "=>", "<=>"
/// On one line.
std::string text_of(const Pattern& pattern);
/// The results of one side, on one line; if all results of one operator follow one another, the operator stands for
/// them.
std::string text_of(const std::vector<PatternPtr>& side);
std::string text_of(const Condition& condition);

}  // namespace taso::rules
