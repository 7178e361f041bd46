#include "rules/language/term_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/literal.h"
#include "ops/text/spelling.h"

namespace taso::rules {
namespace {

constexpr std::string_view keywords[] = {"axiom", "rule",    "candidate", "definition", "where", "by",
                                         "first", "second",  "for",       "true",       "false", "inf",
                                         "nan",   "divides", "parity",    "broadcast"};

const TermFunction* function_named(std::string_view name) {
  for (const TermFunction& function : term_functions())
    if (function.name == name) return &function;
  return nullptr;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const TermFunction& function : term_functions())
    if (is_plain_name(function.name)) names.emplace_back(function.name);
  return names;
}

}  // namespace

bool is_keyword(std::string_view name) {
  return std::find(std::begin(keywords), std::end(keywords), name) != std::end(keywords);
}

bool is_term_function(std::string_view name) { return function_named(name) != nullptr; }

std::string count_of(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

TermPtr TermParser::real() {
  const Token word = words_.peek();
  Token number = word;
  bool negative = false;
  const std::size_t begin = word.offset;
  if (word.is("-")) {
    negative = true;
    words_.next();
    number = words_.peek();
  }
  const bool digits = number.kind == Token::Kind::integer || number.kind == Token::Kind::decimal;
  if (!digits && !number.is_word("inf")) {
    if (negative) words_.fail_expected("a number");
    return term();
  }
  double value = std::numeric_limits<double>::infinity();
  if (digits && std::from_chars(number.text.data(), number.text.data() + number.text.size(), value).ec != std::errc())
    fail(number.range(), "the number is out of range");
  if (number.kind == Token::Kind::integer && value >= 0x1p53)
    fail(number.range(), "the number may not be exact: integers here are below 2^53");
  words_.next();
  return keep({real_term(negative ? -value : value), 0}, begin).term;
}

TermParser::Nested TermParser::keep(Nested nested, std::size_t begin) {
  if (nested.depth > deepest_nesting) fail({begin, words_.last_end()}, "terms are nested too deeply");
  places_[nested.term.get()] = {begin, words_.last_end()};
  return nested;
}

TermParser::Nested TermParser::call(std::string_view function, std::vector<Nested> operands, std::size_t begin) {
  std::vector<TermPtr> terms;
  std::size_t depth = 0;
  for (Nested& operand : operands) {
    depth = std::max(depth, operand.depth + 1);
    terms.push_back(std::move(operand.term));
  }
  return keep({call_term(std::string(function), std::move(terms)), depth}, begin);
}

TermParser::Nested TermParser::chain(std::initializer_list<std::string_view> symbols,
                                     const std::function<Nested()>& operand) {
  const std::size_t begin = words_.peek().offset;
  Nested result = operand();
  while (true) {
    const auto* const symbol =
        std::find_if(symbols.begin(), symbols.end(), [&](std::string_view s) { return words_.peek().is(s); });
    if (symbol == symbols.end()) return result;
    words_.next();
    result = call(*symbol, {result, operand()}, begin);
  }
}

TermParser::Nested TermParser::joined(std::size_t depth) {
  return chain({"++"}, [&] { return sum(depth); });
}
TermParser::Nested TermParser::sum(std::size_t depth) {
  return chain({"+", "-"}, [&] { return product(depth); });
}
TermParser::Nested TermParser::product(std::size_t depth) {
  return chain({"*", "/", "%"}, [&] { return factor(depth); });
}

TermParser::Nested TermParser::factor(std::size_t depth) {
  const Token word = words_.peek();
  if (depth > deepest_nesting) fail(word.range(), "terms are nested too deeply");
  if (!words_.accept("-")) return element(depth);
  if (words_.peek().kind == Token::Kind::integer) return integer(word.offset, true);
  const Nested zero = keep({integer_term(0), 0}, word.offset);
  return call("-", {zero, factor(depth + 1)}, word.offset);
}

TermParser::Nested TermParser::element(std::size_t depth) {
  const std::size_t begin = words_.peek().offset;
  Nested result = primary(depth);
  while (words_.accept("[")) {
    const Nested place = joined(depth + 1);
    words_.expect("]", "after the place of an element");
    result = call("[]", {result, place}, begin);
  }
  return result;
}

TermParser::Nested TermParser::primary(std::size_t depth) {
  const Token word = words_.peek();
  if (word.kind == Token::Kind::integer) return integer(word.offset, false);
  if (word.kind == Token::Kind::decimal)
    fail(word.range(), "a decimal number must stand by itself, where an operator takes one");
  if (words_.accept("(")) {
    Nested inside = joined(depth + 1);
    words_.expect(")", "after a term");
    return inside;
  }
  if (words_.accept("[")) return list(word.offset, depth);
  if (word.is_word("true") || word.is_word("false")) {
    words_.next();
    return keep({boolean_term(word.text == "true"), 0}, word.offset);
  }
  if (word.kind != Token::Kind::name || is_keyword(word.text)) words_.fail_expected("a term");
  words_.next();
  if (words_.peek().is("(")) return function(word, depth);
  return keep({variable_term(variable_(word)), 0}, word.offset);
}

TermParser::Nested TermParser::integer(std::size_t begin, bool negative) {
  const Token word = words_.next();
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(word.text.data(), word.text.data() + word.text.size(), magnitude);
  if (error != std::errc() || magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1))
    fail(word.range(), "the number is too large");
  return keep({integer_term(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude)), 0}, begin);
}

TermParser::Nested TermParser::list(std::size_t begin, std::size_t depth) {
  std::vector<TermPtr> elements;
  std::size_t deepest = 0;
  if (!words_.accept("]")) {
    do {
      Nested element = joined(depth + 1);
      deepest = std::max(deepest, element.depth + 1);
      elements.push_back(std::move(element.term));
    } while (words_.accept(","));
    words_.expect("]", "after the list");
  }
  return keep({list_term(std::move(elements)), deepest}, begin);
}

TermParser::Nested TermParser::function(const Token& word, std::size_t depth) {
  const TermFunction* known = is_plain_name(word.text) ? function_named(word.text) : nullptr;
  if (!known)
    fail(word.range(),
         fmt::format("unknown function '{}'{}", excerpt(word.text), did_you_mean(word.text, function_names())));
  words_.expect("(", "after the function");
  std::vector<Nested> operands;
  if (!words_.accept(")")) {
    do operands.push_back(joined(depth + 1));
    while (words_.accept(","));
    words_.expect(")", "after the operands");
  }
  if (operands.size() != known->operands)
    fail({word.offset, words_.last_end()},
         fmt::format("{} takes {}, not {}: {}", known->name, count_of(known->operands, "operand"), operands.size(),
                     known->meaning));
  return call(known->name, std::move(operands), word.offset);
}

}  // namespace taso::rules
