// The host functions by family, one file each. A family is a table of (ONNX operator, function).
#pragma once

#include <span>
#include <utility>

#include "ops/host/host.h"

namespace taso::host {

using Family = std::span<const std::pair<std::string_view, HostFunction>>;

Family logic();     // comparisons, booleans, Where, Cast
Family movement();  // Shape, Gather, Expand, Tile, …

inline std::vector<Family> families() { return {logic(), movement()}; }

}  // namespace taso::host
