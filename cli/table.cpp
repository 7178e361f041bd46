#include "cli/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso {

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i >= numbers_from && i < numbers_to ? fmt::format("{:>{}}", row[i], widths[i])
                                                  : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  for (const char* unit : {"KB", "MB", "GB"}) {
    value /= 1024;
    if (value < 999.5) return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, unit);
  }
  return fmt::format("{:.1f} TB", value / 1024);
}

}  // namespace taso
