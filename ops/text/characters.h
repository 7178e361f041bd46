// Text that people read: characters, lines, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The number of bytes of the first character. 0 if they are not UTF-8, or are a control character other than a line
/// end or a tab: XML cannot hold those, and a terminal may interpret them.
std::size_t character_size(std::string_view text);

/// The text on one line, control characters and bytes that are not UTF-8 escaped: names in files may hold anything.
std::string on_one_line(std::string_view text);
/// The same, but lines stay lines.
std::string on_lines(std::string_view text);
/// 1234567 as "1,234,567".
std::string with_commas(std::uint64_t number);

}  // namespace taso::ops
