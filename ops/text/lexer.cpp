#include "ops/text/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace taso::ops {
namespace {

// <cctype> depends on the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::array<std::string_view, 8> long_symbols{"<=>", "->", "=>", "<=", ">=", "==", "!=", "++"};
constexpr std::string_view short_symbols = "()[]{},:=+-*/<>?|&!@%";

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::newline: return "the end of the line";
    case Token::Kind::end: return "the end of the text";
    case Token::Kind::string: return "a string";
    default: return fmt::format("'{}'", excerpt(token.text));
  }
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), continues_name);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '\r': result += "\\r"; break;
      default:
        if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f)
          result += fmt::format("\\x{:02x}", byte);
        else
          result += c;
    }
  }
  return result + '"';
}

std::string excerpt(std::string_view name) {
  constexpr std::size_t longest = 60;
  const bool cut = name.size() > longest;
  std::string text(name.substr(0, longest));
  // Do not cut inside a code point.
  while (cut && !text.empty() && (static_cast<unsigned char>(name[text.size()]) & 0xc0u) == 0x80u) text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return cut ? text + "..." : text;
}

std::string unquoted(const Token& token, const Source& source) {
  std::string result;
  const std::string_view body = token.text.substr(1, token.text.size() - 2);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      result += body[i];
      continue;
    }
    const std::size_t escape = token.offset + 1 + i;
    switch (body[++i]) {  // a string never ends on a lone backslash
      case '"': result += '"'; break;
      case '\\': result += '\\'; break;
      case 'n': result += '\n'; break;
      case 't': result += '\t'; break;
      case 'r': result += '\r'; break;
      case 'x': {
        const int high = i + 1 < body.size() ? hex_digit(body[i + 1]) : -1;
        const int low = i + 2 < body.size() ? hex_digit(body[i + 2]) : -1;
        if (high < 0 || low < 0) source.fail({escape, escape + 2}, "two hexadecimal digits follow \\x");
        result += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default: source.fail({escape, escape + 2}, "unknown escape in a string");
    }
  }
  return result;
}

Lexer::Lexer(const Source& source) : source_(&source) {
  if (source.text().starts_with("\xef\xbb\xbf")) last_end_ = 3;  // a byte order mark, which some editors write
  token_ = scan();
}

Token Lexer::scan() const {
  const std::string_view text = source_->text();
  std::size_t at = last_end_;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
  if (at < text.size() && text[at] == '#') at = std::min(text.find('\n', at), text.size());
  if (at >= text.size()) return {Token::Kind::end, text.substr(text.size()), text.size()};
  const char c = text[at];
  if (c == '\n') return {Token::Kind::newline, text.substr(at, 1), at};
  if (c == '"') return scan_string(at);
  if (is_digit(c)) return scan_number(at);
  if (is_letter(c)) {
    std::size_t end = at + 1;
    while (end < text.size() && continues_name(text[end])) ++end;
    return {Token::Kind::name, text.substr(at, end - at), at};
  }
  for (const std::string_view symbol : long_symbols)
    if (text.substr(at).starts_with(symbol)) return {Token::Kind::symbol, text.substr(at, symbol.size()), at};
  if (c != '\0' && short_symbols.find(c) != std::string_view::npos)
    return {Token::Kind::symbol, text.substr(at, 1), at};
  source_->fail({at, at + 1}, static_cast<unsigned char>(c) < 0x80 && c >= ' '
                                  ? fmt::format("unexpected character '{}'", c)
                                  : "unexpected character; names beyond letters, digits, '_' and '.' need quotes");
}

Token Lexer::scan_number(std::size_t begin) const {
  const std::string_view text = source_->text();
  std::size_t at = begin;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > first;
  };
  auto kind = Token::Kind::integer;
  bool good = digits();
  if (at < text.size() && text[at] == '.') {
    kind = Token::Kind::decimal;
    ++at;
    good = digits() && good;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    kind = Token::Kind::decimal;
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    good = digits() && good;
  }
  if (!good || (at < text.size() && continues_name(text[at]))) {
    while (at < text.size() && continues_name(text[at])) ++at;
    source_->fail({begin, at}, "malformed number");
  }
  return {kind, text.substr(begin, at - begin), begin};
}

Token Lexer::scan_string(std::size_t begin) const {
  const std::string_view text = source_->text();
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != '"' && text[at] != '\n') {
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') ++at;
    ++at;
  }
  if (at >= text.size() || text[at] != '"') source_->fail({begin, begin + 1}, "the string does not end on this line");
  return {Token::Kind::string, text.substr(begin, at + 1 - begin), begin};
}

Token Lexer::next() {
  const Token token = token_;
  last_end_ = token.offset + token.text.size();
  token_ = scan();
  return token;
}

Token Lexer::next_with_dashes() {
  const std::string_view text = source_->text();
  std::size_t end = token_.offset + token_.text.size();
  while (end < text.size() && (continues_name(text[end]) || text[end] == '-')) ++end;
  token_.text = text.substr(token_.offset, end - token_.offset);
  return next();
}

bool Lexer::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  next();
  return true;
}

bool Lexer::accept_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  next();
  return true;
}

Token Lexer::expect(std::string_view symbol, std::string_view context) {
  if (!token_.is(symbol)) fail_expected(fmt::format("'{}' {}", symbol, context));
  return next();
}

std::string Lexer::expect_name(std::string_view what) {
  if (!at_name()) fail_expected(what);
  const Token token = next();
  return token.kind == Token::Kind::name ? std::string(token.text) : unquoted(token, *source_);
}

std::string Lexer::expect_string(std::string_view what) {
  if (token_.kind != Token::Kind::string) fail_expected(what);
  return unquoted(next(), *source_);
}

void Lexer::end_line(std::string_view context) {
  if (!at_line_end()) fail_expected(fmt::format("the end of the line {}", context));
  skip_empty_lines();
}

void Lexer::skip_empty_lines() {
  while (token_.kind == Token::Kind::newline) next();
}

void Lexer::fail_expected(std::string_view what) const {
  fail(fmt::format("expected {}, not {}", what, describe(token_)));
}

}  // namespace taso::ops
