// UTF-8 characters in text from files.
#pragma once

#include <cstddef>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The number of bytes of the first character. 0 if they are not UTF-8, or are a control character other than a line
/// end or a tab: XML cannot hold those, and a terminal may interpret them.
std::size_t character_size(std::string_view text);

}  // namespace taso::ops
