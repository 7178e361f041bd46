#include "ops/text/source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::ops {
namespace {

// Wider than any terminal that people read errors in; longer lines are cut.
constexpr std::size_t widest_line = 160;

// The number of bytes of the character at `at`; 1 if it is not valid.
std::size_t character_size(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(ops::character_size(text.substr(at)), 1);
}

// One character as messages show it.
std::string shown(std::string_view character) {
  return ops::character_size(character) == 0 || character[0] == '\x7f' ? "?" : std::string(character);
}

}  // namespace

Source Source::read(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw InputError(path + ": is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  // Do not read through another stream: it would report that the file cannot be read when memory runs out.
  std::string text;
  std::array<char, 1 << 16> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) throw InputError(path + ": cannot read");
  return Source(path, std::move(text));
}

SourceLocation Source::location(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::string_view before = std::string_view(text_).substr(0, offset);
  SourceLocation location;
  location.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  for (std::size_t i = newline == std::string_view::npos ? 0 : newline + 1; i < offset; i += character_size(text_, i))
    ++location.column;
  return location;
}

std::string Source::point_at(SourceRange range, std::string_view message) const {
  const std::size_t offset = std::min(range.begin, text_.size());
  const SourceLocation where = location(offset);
  const std::size_t newline = offset == 0 ? std::string::npos : text_.rfind('\n', offset - 1);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  std::string_view line = std::string_view(text_).substr(begin, text_.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);

  std::vector<std::string> points;
  std::size_t carets = 0;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t size = character_size(line, i);
    points.push_back(shown(line.substr(i, size)));
    if (begin + i >= offset && begin + i < range.end) ++carets;
    i += size;
  }
  const std::size_t caret = where.column - 1;
  const std::size_t first = points.size() <= widest_line || caret < widest_line / 2 ? 0 : caret - widest_line / 2;
  const std::size_t last = std::min(points.size(), first + widest_line);
  std::string text = first > 0 ? "..." : "";
  std::string marks(text.size(), ' ');
  for (std::size_t i = first; i < last; ++i) {
    text += points[i];
    if (i < caret) marks += points[i] == "\t" ? '\t' : ' ';
  }
  if (last < points.size()) text += "...";
  marks += '^';
  const std::size_t room = last > caret ? last - caret : 1;
  marks.append(std::min(std::max<std::size_t>(carets, 1), room) - 1, '~');
  return fmt::format("{}:{}:{}: {}\n{}\n{}", name_, where.line, where.column, message, text, marks);
}

void Source::fail(SourceRange range, std::string_view message) const { throw InputError(point_at(range, message)); }

}  // namespace taso::ops
