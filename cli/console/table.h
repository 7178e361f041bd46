// Rows of text in columns, as every program shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/text/characters.h"

namespace taso::cli {

struct Table {
  std::vector<std::vector<std::string>> rows;
  std::size_t numbers_from = 99, numbers_to = 0;  ///< these columns are aligned to the right

  /// A line for each row, two spaces between columns, none at the end of a line.
  std::string text() const;
};

/// "512 MB", "1.5 GB": three digits at most
std::string bytes_text(std::uint64_t bytes);

}  // namespace taso::cli
