// Splits a text into tokens. Shared by the languages of graphs and of rules.
//
// Tokens are names (a letter or '_', then letters, digits, '_' and '.'), strings in double quotes with the escapes \"
// \\ \n \t \r \xHH, numbers without sign, symbols, and line ends. '#' begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/text/source.h"

namespace taso::ops {

struct Token {
  enum class Kind { name, string, integer, decimal, symbol, newline, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< as it stands in the source
  std::size_t offset = 0;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == Kind::name && text == word; }
  SourceRange range() const { return {offset, offset + text.size()}; }
};

/// Reads tokens in order, with one token of lookahead. A copy marks a place to return to. The source must outlive it.
class Lexer {
 public:
  /// Throws InputError if the first token is malformed, as does every function that advances.
  explicit Lexer(const Source& source);

  const Source& source() const { return *source_; }
  const Token& peek() const { return token_; }
  Token next();
  /// The next token, which must be a name, with all letters, digits, '_', '.' and '-' that follow it directly.
  Token next_with_dashes();
  /// Advances if the next token is that symbol.
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  /// Returns the symbol, or fails with "expected ')' after the operands, not the end of the line".
  Token expect(std::string_view symbol, std::string_view context);
  /// A name or a string, without quotes and with escapes resolved.
  std::string expect_name(std::string_view what);
  std::string expect_string(std::string_view what);
  bool at_name() const { return token_.kind == Token::Kind::name || token_.kind == Token::Kind::string; }
  bool at_line_end() const { return token_.kind == Token::Kind::newline || token_.kind == Token::Kind::end; }
  /// Advances past the end of this line and all empty ones; anything else on the line is an error.
  void end_line(std::string_view context);
  void skip_empty_lines();

  /// The offset at which the previous token ended.
  std::size_t last_end() const { return last_end_; }
  [[noreturn]] void fail(SourceRange range, std::string_view message) const { source_->fail(range, message); }
  [[noreturn]] void fail(std::string_view message) const { fail(token_.range(), message); }
  /// Fails with "expected …, not …" at the next token.
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  Token scan() const;
  Token scan_number(std::size_t begin) const;
  Token scan_string(std::size_t begin) const;
  const Source* source_;
  Token token_;
  std::size_t last_end_ = 0;
};

/// Whether a name needs no quotes.
bool is_plain_name(std::string_view name);
std::string quoted(std::string_view text);
/// A name as messages show it: shortened, and without control characters.
std::string excerpt(std::string_view name);
/// The value of a string token.
std::string unquoted(const Token& token, const Source& source);

}  // namespace taso::ops
