// Numbers with units, as people read them.
#pragma once

#include <string>

#include "ops/core/namespace.h"

namespace taso::ops {

/// "512 bytes", "1.50 GiB": at most three digits.
std::string text_of_bytes(double bytes);

}  // namespace taso::ops
