// Parses the terms of rules: attributes, dimensions and the operands of conditions. The grammar is in rules/README.md.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/language/rule_words.h"
#include "rules/language/term.h"

namespace taso::rules {

/// Deeper than anything sensible, but shallow enough for any stack.
inline constexpr std::size_t deepest_nesting = 200;

/// Whether a name is a keyword of the language.
bool is_keyword(std::string_view name);
/// Whether a name is a function in terms, such as `dim`.
bool is_term_function(std::string_view name);
/// "1 operand", "2 operands".
std::string count_of(std::size_t number, std::string_view what);

class TermParser {
 public:
  /// `variable` gives the name of a variable at a word; it throws if the word cannot be one.
  TermParser(RuleWords& words, std::function<std::string(const Token&)> variable)
      : words_(words), variable_(std::move(variable)) {}

  TermPtr term() { return joined(0).term; }
  /// A number where an operator takes a real: there is no arithmetic on these.
  TermPtr real();

  /// Where a term is in the text that was read, or recorded with note().
  SourceRange place_of(const Term* term) const { return places_.at(term); }
  void note(const TermPtr& term, SourceRange place) { places_[term.get()] = place; }

 private:
  struct Nested {
    TermPtr term;
    std::size_t depth = 0;
  };

  [[noreturn]] void fail(SourceRange range, std::string_view message) const { words_.fail(range, message); }
  Nested keep(Nested nested, std::size_t begin);
  Nested call(std::string_view function, std::vector<Nested> operands, std::size_t begin);
  /// Left-associative operators of equal precedence.
  Nested chain(std::initializer_list<std::string_view> symbols, const std::function<Nested()>& operand);
  Nested joined(std::size_t depth);
  Nested sum(std::size_t depth);
  Nested product(std::size_t depth);
  Nested factor(std::size_t depth);
  Nested element(std::size_t depth);
  Nested primary(std::size_t depth);
  Nested integer(std::size_t begin, bool negative);
  Nested list(std::size_t begin, std::size_t depth);
  Nested function(const Token& word, std::size_t depth);

  RuleWords& words_;
  std::function<std::string(const Token&)> variable_;
  std::unordered_map<const Term*, SourceRange> places_;
};

}  // namespace taso::rules
