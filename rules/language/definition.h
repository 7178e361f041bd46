// Definitions of a rule file: names for patterns that the rules below use like operators. The parser replaces each use
// by what it stands for, so that nothing else has to know of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rules/language/rule.h"

namespace taso::rules {

/// `definition expand[shape=u](x) = mul(x, ones[shape=u])`.
struct Definition {
  struct Field {
    std::string name, variable;
    bool is_real = false;  ///< it stands for a real number: the body uses it as one

    bool operator==(const Field&) const = default;
  };
  std::string name;
  std::vector<Field> fields;
  std::vector<std::string> inputs;
  PatternPtr body;
  std::vector<std::string> comments;  ///< the lines above it, without '#'
  SourceRange place;                  ///< of its name in the file; not part of its identity

  bool operator==(const Definition& other) const;
};

/// The operators that a use of a definition may stand for, as often as they occur: definitions that use definitions
/// could double a rule again and again.
inline constexpr std::size_t most_operators_of_a_use = 150;

/// What the names in the body of a definition stand for at one place.
struct DefinitionArguments {
  std::map<std::string, TermPtr> terms;        ///< by the variables of fields
  std::map<std::string, PatternPtr> patterns;  ///< by inputs
  /// Called for everything that is new.
  std::function<void(const TermPtr&)> note_term;
  std::function<void(const PatternPtr&)> note_pattern;
};

/// The body with its names replaced. Throws TermOfPattern if a term of the body asks for the shape of an input that is
/// not an input here.
PatternPtr expanded(const Definition& definition, const DefinitionArguments& arguments);

struct TermOfPattern {
  std::string input;
};

/// A real number as a pattern, before its shape is known: a clip of nothing to it.
Pattern number_pattern(const TermPtr& value);
bool is_number(const Pattern& pattern);

/// The operators in the pattern, counted as often as they occur, but at most one more than `most`.
std::size_t count_operators(const Pattern& pattern, std::size_t most);

}  // namespace taso::rules
