#include "cli/console/table.h"

#include <algorithm>
#include <string_view>

#include "ops/text/units.h"

namespace taso::cli {
namespace {

/// Counts UTF-8 characters: the bytes that begin one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string space(widths[i] - width_of(row[i]), ' ');
      line += i >= numbers_from && i < numbers_to ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) { return text_of_bytes(static_cast<double>(bytes)); }

}  // namespace taso::cli
