// Text tables, as every program prints them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/text/characters.h"

namespace taso::cli {

struct Table {
  std::vector<std::vector<std::string>> rows;
  std::size_t numbers_from = 99, numbers_to = 0;  ///< columns aligned to the right

  /// One line per row, two spaces between columns, no trailing spaces.
  std::string text() const;
};

/// "512 MiB", "1.50 GiB": three digits
std::string bytes_text(std::uint64_t bytes);

}  // namespace taso::cli
