// A rule as a picture: both sides as graphs, side by side.
#pragma once

#include <string>

#include "rules/language/rule.h"

namespace taso::cli {

/// A self-contained SVG that follows the reader's light or dark colours; its texts can be selected.
std::string picture_of(const rules::Rule& rule);

}  // namespace taso::cli
