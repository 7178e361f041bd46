#include "rules/language/term.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ops/core/error.h"
#include "ops/text/literal.h"

namespace taso::rules {
namespace {

constexpr std::array functions{
    TermFunction{"+", 2, "a + b"},
    TermFunction{"-", 2, "a - b"},
    TermFunction{"*", 2, "a * b"},
    TermFunction{"/", 2, "a / b, rounded down"},
    TermFunction{"%", 2, "the remainder of a / b"},
    TermFunction{"++", 2, "the elements of a, then those of b"},
    TermFunction{"[]", 2, "p[i], an element of a list, counted from 0"},
    TermFunction{"dim", 2, "dim(x, i): a dimension of an input"},
    TermFunction{"rank", 1, "rank(x): the number of dimensions of an input"},
    TermFunction{"shape", 1, "shape(x): all dimensions of an input"},
    TermFunction{"spatial", 1, "spatial(x): the dimensions of an input without its first two"},
    TermFunction{"begins", 1, "begins(p): the first half of a list"},
    TermFunction{"ends", 1, "ends(p): the second half of a list"},
    TermFunction{"product", 1, "product(l): the product of the elements"},
    TermFunction{"sum", 1, "sum(l): the sum of the elements"},
    TermFunction{"repeat", 2, "repeat(v, n): v, n times"},
    TermFunction{"inverse", 1, "inverse(p): the permutation that undoes p"},
    TermFunction{"compose", 2, "compose(p, q): the list whose element i is p[q[i]]"},
    TermFunction{"permuted", 2, "permuted(l, p): the list whose element i is l[p[i]]"},
    TermFunction{"position", 2, "position(l, v): the index of v in l"},
    TermFunction{"without", 2, "without(l, axes): l without the elements at these indices"},
    TermFunction{"replaced", 3, "replaced(l, i, v): l with v at index i"},
    TermFunction{"inserted", 3, "inserted(l, i, v): l with v inserted before index i"},
    TermFunction{"swap_last", 1, "swap_last(n): the permutation of n axes that exchanges the last two"},
    TermFunction{"same", 3, "same(size, kernel, stride): the pads for ceil(size / stride) windows"},
};

TermPtr make(Term term) { return std::make_shared<const Term>(std::move(term)); }

// The precedence of the outermost part of a term.
constexpr int loosest = 0, tightest = 4;
int binding_of(const Term& term) {
  if (term.kind == Term::Kind::integer && term.integer < 0) return 3;
  if (term.kind == Term::Kind::real && std::signbit(term.real)) return 3;
  if (term.kind != Term::Kind::call) return tightest;
  if (term.name == "++") return 0;
  if (term.name == "+" || term.name == "-") return 1;
  if (term.name == "*" || term.name == "/" || term.name == "%") return 2;
  return tightest;
}

void print(const Term& term, int least, std::string& text);

void print_all(const std::vector<TermPtr>& terms, std::string& text) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i) text += ", ";
    print(*terms[i], loosest, text);
  }
}

void print_call(const Term& term, std::string& text) {
  const int binding = binding_of(term);
  if (binding < tightest) {  // left-associative: a - b - c is (a - b) - c
    print(*term.operands[0], binding, text);
    text += ' ' + term.name + ' ';
    print(*term.operands[1], binding + 1, text);
  } else if (term.name == "[]") {
    print(*term.operands[0], tightest, text);
    text += '[';
    print(*term.operands[1], loosest, text);
    text += ']';
  } else {
    text += term.name + '(';
    print_all(term.operands, text);
    text += ')';
  }
}

void print(const Term& term, int least, std::string& text) {
  const bool parentheses = binding_of(term) < least;
  if (parentheses) text += '(';
  switch (term.kind) {
    case Term::Kind::integer: text += std::to_string(term.integer); break;
    case Term::Kind::real: text += text_of_number(term.real); break;
    case Term::Kind::boolean: text += term.integer ? "true" : "false"; break;
    case Term::Kind::variable: text += term.name; break;
    case Term::Kind::list:
      text += '[';
      print_all(term.operands, text);
      text += ']';
      break;
    case Term::Kind::call: print_call(term, text); break;
  }
  if (parentheses) text += ')';
}

}  // namespace

std::span<const TermFunction> term_functions() { return functions; }

bool Term::operator==(const Term& other) const {
  if (this == &other) return true;
  return kind == other.kind && integer == other.integer &&
         std::bit_cast<std::uint64_t>(real) == std::bit_cast<std::uint64_t>(other.real) && name == other.name &&
         std::equal(operands.begin(), operands.end(), other.operands.begin(), other.operands.end(),
                    [](const TermPtr& a, const TermPtr& b) { return *a == *b; });
}

TermPtr integer_term(std::int64_t value) { return make({Term::Kind::integer, value, 0, "", {}}); }
TermPtr real_term(double value) { return make({Term::Kind::real, 0, value, "", {}}); }
TermPtr boolean_term(bool value) { return make({Term::Kind::boolean, value ? 1 : 0, 0, "", {}}); }
TermPtr variable_term(std::string name) { return make({Term::Kind::variable, 0, 0, std::move(name), {}}); }
TermPtr list_term(std::vector<TermPtr> elements) { return make({Term::Kind::list, 0, 0, "", std::move(elements)}); }
TermPtr call_term(std::string function, std::vector<TermPtr> operands) {
  const auto* const known =
      std::find_if(functions.begin(), functions.end(), [&](const TermFunction& f) { return f.name == function; });
  check(known != functions.end() && known->operands == operands.size(), "a call names a function of the list");
  return make({Term::Kind::call, 0, 0, std::move(function), std::move(operands)});
}

std::string text_of(const Term& term) {
  std::string text;
  print(term, loosest, text);
  return text;
}

}  // namespace taso::rules
