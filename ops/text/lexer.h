// Cuts a text into words: what the languages of graphs and of rules share.
//
// Words are names (a letter or '_', then letters, digits, '_' and '.'), strings in double quotes with the escapes
// \" \\ \n \t \r \xHH, numbers without sign, symbols, and ends of lines. '#' begins a comment.
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

/// Reads tokens one after another, one ahead. A copy is a place to come back to. The source must outlive it.
class Lexer {
 public:
  /// Throws InputError at the first word that is none, as all functions do that move on.
  explicit Lexer(const Source& source);

  const Source& source() const { return *source_; }
  const Token& peek() const { return token_; }
  Token next();
  /// The next token, which is a name, together with all letters, digits, '_', '.' and '-' that follow it at once.
  Token next_with_dashes();
  /// Moves on if the next token is that symbol.
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  /// The symbol, or an error: "expected ')' after the operands, not end of line".
  Token expect(std::string_view symbol, std::string_view context);
  /// A name or a string, its quotes and escapes taken away.
  std::string expect_name(std::string_view what);
  std::string expect_string(std::string_view what);
  bool at_name() const { return token_.kind == Token::Kind::name || token_.kind == Token::Kind::string; }
  bool at_line_end() const { return token_.kind == Token::Kind::newline || token_.kind == Token::Kind::end; }
  /// Past the end of this line and all empty ones; anything else on the line is an error.
  void end_line(std::string_view context);
  void skip_empty_lines();

  /// The offset at which the token before the next one ended.
  std::size_t last_end() const { return last_end_; }
  [[noreturn]] void fail(SourceRange range, std::string_view message) const { source_->fail(range, message); }
  [[noreturn]] void fail(std::string_view message) const { fail(token_.range(), message); }
  /// "expected …, not …" at the next token.
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  Token scan() const;
  Token scan_number(std::size_t begin) const;
  Token scan_string(std::size_t begin) const;
  const Source* source_;
  Token token_;
  std::size_t last_end_ = 0;
};

/// Whether a name may stand without quotes.
bool is_plain_name(std::string_view name);
std::string quoted(std::string_view text);
/// A name as messages show it: not endless, and without bytes that upset a terminal.
std::string excerpt(std::string_view name);
/// What a string token stands for.
std::string unquoted(const Token& token, const Source& source);

}  // namespace taso::ops
