#include "ops/text/literal.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/core/minimum.h"
#include "ops/text/spelling.h"

namespace taso::ops {
namespace {

// Deep enough for anything that a person or shape inference writes, and shallow enough for any stack.
constexpr int deepest_nesting = 64;
// Arithmetic on dimensions keeps every intermediate form in memory, so very long dimensions are refused.
constexpr std::size_t longest_dimension = 1u << 14;

template <class T>
std::string text_of_floating(T value) {
  if (std::isnan(value)) return "nan";
  if (value == 0 && std::signbit(value)) return "-0.0";  // "-0" would read as the integer
  return fmt::format("{}", value);
}

std::uint64_t magnitude_of(const Token& token, const Lexer& lexer) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc()) lexer.fail(token.range(), "the number is too large");
  return value;
}

template <class T>
T parse_floating(Lexer& lexer) {
  const std::size_t begin = lexer.peek().offset;
  const bool negative = lexer.accept("-");
  T value = 0;
  if (lexer.accept_word("inf")) {
    value = std::numeric_limits<T>::infinity();
  } else if (lexer.accept_word("nan")) {
    value = std::numeric_limits<T>::quiet_NaN();
  } else {
    const Token& token = lexer.peek();
    if (token.kind != Token::Kind::integer && token.kind != Token::Kind::decimal) lexer.fail_expected("a number");
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc()) lexer.fail({begin, token.range().end}, "the number is out of range");
    lexer.next();
  }
  return negative ? -value : value;
}

class DimParser {
 public:
  explicit DimParser(Lexer& lexer) : lexer_(lexer) {}

  Dim sum() {
    if (++depth_ > deepest_nesting) lexer_.fail("dimensions are nested too deeply");
    const std::size_t begin = lexer_.peek().offset;
    std::vector<Dim> terms;
    bool negative = lexer_.accept("-");
    while (true) {
      terms.push_back(product(negative));
      if (lexer_.accept("+"))
        negative = false;
      else if (lexer_.accept("-"))
        negative = true;
      else
        break;
    }
    --depth_;
    return fold(begin, std::move(terms), [](Dim a, Dim b) { return a + b; });
  }

 private:
  Dim product(bool negative) {
    const std::size_t begin = lexer_.peek().offset;
    std::vector<Dim> factors;
    do factors.push_back(primary(negative && factors.empty()));
    while (lexer_.accept("*"));
    return fold(begin, std::move(factors), [](Dim a, Dim b) { return a * b; });
  }

  Dim primary(bool negative) {
    const Token token = lexer_.peek();
    if (token.kind == Token::Kind::integer) {
      const std::uint64_t magnitude = magnitude_of(token, lexer_);
      if (magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1)) lexer_.fail("the number is too large");
      lexer_.next();
      return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
    }
    Dim value;
    if (lexer_.accept("(")) {
      value = sum();
      lexer_.expect(")", "after a dimension");
    } else if (token.is_word("floor")) {
      lexer_.next();
      value = quotient(token);
    } else if (token.is_word("min")) {
      lexer_.next();
      value = lexer_.peek().is("(") ? smaller(token) : Dim::symbol("min");
    } else {
      value = Dim::symbol(lexer_.expect_name("a dimension"));
    }
    return negative ? Dim(-1) * value : value;
  }

  Dim quotient(const Token& word) {
    if (++depth_ > deepest_nesting) lexer_.fail("dimensions are nested too deeply");
    if (!lexer_.peek().is("("))
      lexer_.fail(word.range(), "'floor' is a function; as the name of a dimension it needs quotes");
    lexer_.next();
    const Dim numerator = product(lexer_.accept("-"));
    if (lexer_.peek().is("+") || lexer_.peek().is("-")) lexer_.fail("a sum that is divided needs parentheses");
    lexer_.expect("/", "after the numerator");
    const Dim denominator = primary(false);
    lexer_.expect(")", "after the denominator");
    --depth_;
    return guarded(word.offset, [&] { return floor_div(numerator, denominator); });
  }

  Dim smaller(const Token& word) {
    lexer_.expect("(", "after 'min'");
    const Dim first = sum();
    lexer_.expect(",", "after the first of two dimensions");
    const Dim second = sum();
    lexer_.expect(")", "after the second of two dimensions");
    if (!surely_at_least(first, 1) && !surely_at_least(second, 1))
      lexer_.fail({word.offset, lexer_.last_end()}, "one of the two must always be 1 or more");
    return guarded(word.offset, [&] { return minimum(first, second); });
  }

  // Combine in a balanced tree, because each intermediate form stays in memory.
  template <class Combine>
  Dim fold(std::size_t begin, std::vector<Dim> parts, Combine combine) {
    return guarded(begin, [&] {
      while (parts.size() > 1) {
        std::vector<Dim> halved;
        for (std::size_t i = 0; i < parts.size(); i += 2) {
          halved.push_back(i + 1 < parts.size() ? combine(parts[i], parts[i + 1]) : parts[i]);
          if (halved.back().text().size() > longest_dimension) throw ShapeError("the dimension is too long");
        }
        parts = std::move(halved);
      }
      return parts[0];
    });
  }

  // Reports overflow and division by zero with their location.
  template <class Compute>
  Dim guarded(std::size_t begin, Compute compute) {
    try {
      return compute();
    } catch (const ShapeError& error) {
      lexer_.fail({begin, lexer_.last_end()}, error.what());
    }
  }

  Lexer& lexer_;
  int depth_ = 0;
};

}  // namespace

std::string text_of_number(double value) { return text_of_floating(value); }
std::string text_of_number(float value) { return text_of_floating(value); }

std::int64_t parse_integer(Lexer& lexer, std::int64_t low, std::int64_t high) {
  const std::size_t begin = lexer.peek().offset;
  const bool negative = lexer.accept("-");
  if (lexer.peek().kind != Token::Kind::integer) lexer.fail_expected("an integer");
  const std::uint64_t magnitude = magnitude_of(lexer.peek(), lexer);
  const SourceRange range{begin, lexer.peek().range().end};
  if (magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1)) lexer.fail(range, "the number is too large");
  const auto value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  if (value < low || value > high)
    lexer.fail(range, fmt::format("the number is out of range: from {} to {}", low, high));
  lexer.next();
  return value;
}

std::uint64_t parse_unsigned(Lexer& lexer, std::uint64_t high) {
  if (lexer.peek().kind != Token::Kind::integer) lexer.fail_expected("an integer that is not negative");
  const std::uint64_t value = magnitude_of(lexer.peek(), lexer);
  if (value > high) lexer.fail(fmt::format("the number is out of range: from 0 to {}", high));
  lexer.next();
  return value;
}

double parse_double(Lexer& lexer) { return parse_floating<double>(lexer); }
float parse_float(Lexer& lexer) { return parse_floating<float>(lexer); }

bool parse_bool(Lexer& lexer) {
  if (lexer.accept_word("true")) return true;
  if (!lexer.accept_word("false")) lexer.fail_expected("'true' or 'false'");
  return false;
}

Dim parse_dim(Lexer& lexer) { return DimParser(lexer).sum(); }

Dim parse_dim(std::string_view text) {
  const Source source("<dimension>", std::string(text));
  Lexer lexer(source);
  const Dim dim = parse_dim(lexer);
  if (lexer.peek().kind != Token::Kind::end) lexer.fail_expected("the end of the dimension");
  return dim;
}

ElementType parse_element_type(Lexer& lexer) {
  const Token& token = lexer.peek();
  if (token.kind != Token::Kind::name) lexer.fail_expected("an element type");
  const auto type = element_type_named(token.text);
  if (!type) {
    std::vector<std::string> names;
    for (auto i = ElementType::float32; i <= ElementType::boolean;
         i = static_cast<ElementType>(static_cast<std::uint8_t>(i) + 1))
      names.emplace_back(name_of(i));
    lexer.fail(fmt::format("unknown element type '{}'{}", excerpt(token.text), did_you_mean(token.text, names)));
  }
  lexer.next();
  return *type;
}

Type parse_type(Lexer& lexer) {
  Type type{parse_element_type(lexer), std::nullopt};
  lexer.expect("[", "after the element type");
  if (lexer.accept("?")) {
    lexer.expect("]", "after '?', which stands for an unknown rank");
    return type;
  }
  type.shape.emplace();
  if (lexer.accept("]")) return type;
  do {
    const std::size_t begin = lexer.peek().offset;
    type.shape->push_back(parse_dim(lexer));
    const auto extent = type.shape->back().known();
    if (extent && *extent < 0) lexer.fail({begin, lexer.last_end()}, "a dimension must not be negative");
  } while (lexer.accept(","));
  lexer.expect("]", "after the dimensions");
  return type;
}

}  // namespace taso::ops
