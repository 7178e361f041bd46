// The words of a rule file, item by item. An item is a line that begins at the left edge with all indented lines below
// it; line breaks in it do not matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/text/lexer.h"

namespace taso::rules {

/// A comment, without '#' and the following space.
struct RuleComment {
  SourceRange range;  ///< from '#' to the end of the line
  std::string text;
};

class RuleWords {
 public:
  /// Throws InputError if the text is not UTF-8 or has control characters.
  explicit RuleWords(const Source& source);

  const Source& source() const { return lexer_.source(); }
  /// The next word of the item; of kind `end` after its last one.
  const Token& peek() const { return token_; }
  bool at_end() const { return token_.kind == Token::Kind::end; }
  Token next();
  /// A name that may contain '-'; `what` is for the message if there is none.
  Token expect_name(std::string_view what);
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  Token expect(std::string_view symbol, std::string_view context);
  /// Where the last word ended.
  std::size_t last_end() const { return last_end_; }

  /// Moves to the next item when all words of one are read; false at the end of the file.
  bool begin_item();
  std::vector<RuleComment> comments(std::size_t begin, std::size_t end) const;

  [[noreturn]] void fail(SourceRange range, std::string_view message) const { source().fail(range, message); }
  /// "expected …, not …" at the next word.
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  Token moved(const Token& token);
  Lexer lexer_;  // at the next word, of this item or the next, that is not a line end
  Token token_;
  std::size_t last_end_ = 0;
};

}  // namespace taso::rules
