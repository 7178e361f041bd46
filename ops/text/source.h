// Text that a person wrote, and errors that point into it. Shared by graphs and rules.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The position of a byte in a text, counted from 1. Columns count code points; a tab is one.
struct SourceLocation {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const SourceLocation&) const = default;
};

/// A range of bytes in a text.
struct SourceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Source {
 public:
  /// `name` is the name in errors: the path of a file, or "<text>".
  Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  /// Reads a file; throws InputError if it cannot.
  static Source read(const std::string& path);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  SourceLocation location(std::size_t offset) const;
  /// "file:line:column: message", the line, and a caret under the range. Very long lines are shown in part, and bytes
  /// that are not text as '?'.
  std::string point_at(SourceRange range, std::string_view message) const;
  /// Throws InputError with the text of point_at().
  [[noreturn]] void fail(SourceRange range, std::string_view message) const;

 private:
  std::string name_;
  std::string text_;
};

}  // namespace taso::ops
