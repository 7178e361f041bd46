#include "rules/language/rule_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

// The number of bytes of the code point; 0 if it is invalid.
std::size_t code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  const unsigned second = byte(1);
  // Overlong forms, surrogates, and numbers beyond the last code point.
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second > 0x8f))
    return 0;
  return size;
}

const Source& checked(const Source& source) {
  const std::string_view text = source.text();
  bool in_comment = false;
  for (std::size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t size = code_point(text.substr(i));
    const SourceRange range{i, i + 1};
    if (size == 0) source.fail(range, fmt::format("a rule file must be UTF-8: invalid byte 0x{:02x}", byte));
    if ((byte < 0x20 && text[i] != '\n' && text[i] != '\r' && text[i] != '\t') || byte == 0x7f)
      source.fail(range, fmt::format("control character 0x{:02x} in a rule file", byte));
    if (size > 1 && !in_comment) source.fail({i, i + size}, "only comments may contain characters beyond ASCII");
    if (text[i] == '#') in_comment = true;
    if (text[i] == '\n') in_comment = false;
    i += size;
  }
  return source;
}

}  // namespace

RuleWords::RuleWords(const Source& source) : lexer_(checked(source)) {
  lexer_.skip_empty_lines();
  token_ = lexer_.peek();
}

Token RuleWords::next() {
  check(!at_end(), "an item is read to its end, not further");
  return moved(lexer_.next());
}

Token RuleWords::expect_name(std::string_view what) {
  if (token_.kind != Token::Kind::name) fail_expected(what);
  return moved(lexer_.next_with_dashes());
}

Token RuleWords::moved(const Token& token) {
  last_end_ = token.range().end;
  const bool same_line = lexer_.peek().kind != Token::Kind::newline;
  lexer_.skip_empty_lines();
  token_ = lexer_.peek();
  const bool goes_on = token_.kind != Token::Kind::end && (same_line || source().text()[token_.offset - 1] != '\n');
  if (!goes_on) token_ = {Token::Kind::end, source().text().substr(last_end_, 0), last_end_};
  return token;
}

bool RuleWords::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  next();
  return true;
}

bool RuleWords::accept_word(std::string_view word) {
  if (!token_.is_word(word)) return false;
  next();
  return true;
}

Token RuleWords::expect(std::string_view symbol, std::string_view context) {
  if (!token_.is(symbol)) fail_expected(fmt::format("'{}' {}", symbol, context));
  return next();
}

bool RuleWords::begin_item() {
  check(at_end(), "an item is read to its end before the next");
  token_ = lexer_.peek();
  return !at_end();
}

std::vector<RuleComment> RuleWords::comments(std::size_t begin, std::size_t end) const {
  std::vector<RuleComment> found;
  const std::string_view text = source().text();
  // No word of the language contains a '#'.
  for (std::size_t at = text.find('#', begin); at < end; at = text.find('#', found.back().range.end)) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    std::string_view body = text.substr(at + 1, line_end - at - 1);
    if (body.starts_with(' ')) body.remove_prefix(1);
    body = body.substr(0, body.find_last_not_of(" \t\r") + 1);
    found.push_back({{at, line_end}, std::string(body)});
  }
  return found;
}

void RuleWords::fail_expected(std::string_view what) const {
  if (!at_end()) fail(token_.range(), fmt::format("expected {}, not '{}'", what, excerpt(token_.text)));
  const Token& ahead = lexer_.peek();
  const bool indents =
      ahead.kind == Token::Kind::end || ahead.is_word("axiom") || ahead.is_word("rule") || ahead.is_word("candidate");
  fail(token_.range(), fmt::format("expected {}, but the item ends here{}", what,
                                   indents ? "" : "; the lines that belong to it are indented"));
}

}  // namespace taso::rules
