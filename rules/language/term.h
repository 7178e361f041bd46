// Terms of the rule language: the attributes of operators and the operands of `where` conditions.
//
// A term denotes an integer, a list of integers, a real number or a truth value. Arithmetic works element by element on
// lists and repeats a single integer as often as the other side needs. The functions are listed in `term_functions`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace taso::rules {

struct Term;
using TermPtr = std::shared_ptr<const Term>;

struct Term {
  enum class Kind {
    integer,   ///< 3
    real,      ///< 0.1: a decimal number, only where an operator takes a real
    boolean,   ///< true
    variable,  ///< s: an attribute variable; as an operand of dim, rank, shape and broadcast, an input
    list,      ///< [1, dim(w, 0), 1, 1]
    call,      ///< dim(x, 1), s * 2, p[0]: see term_functions
  };
  Kind kind = Kind::integer;
  std::int64_t integer = 0;  ///< also a boolean, as 0 or 1
  double real = 0;
  std::string name;  ///< of a variable, or of the function of a call
  std::vector<TermPtr> operands;

  bool operator==(const Term& other) const;
};

struct TermFunction {
  std::string_view name;
  std::size_t operands = 0;
  std::string_view meaning;
};

/// Every function. Operators are functions too: "+", "-", "*", "/" (rounded down), "%", "++" (joins two lists) and "[]"
/// (an element of a list). Inputs are operands of dim, rank, shape and spatial only.
std::span<const TermFunction> term_functions();

TermPtr integer_term(std::int64_t value);
TermPtr real_term(double value);
TermPtr boolean_term(bool value);
TermPtr variable_term(std::string name);
TermPtr list_term(std::vector<TermPtr> elements);
TermPtr call_term(std::string function, std::vector<TermPtr> operands);

/// The text in a rule file, with the fewest parentheses.
std::string text_of(const Term& term);

}  // namespace taso::rules
