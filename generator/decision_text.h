// Decisions about candidates as text, for a checkpoint or another process.
#pragma once

#include <optional>
#include <string>

#include "generator/generate.h"

namespace taso::generator {

/// One line.
std::string text_of(const Decision& decision);
/// Nothing if the text is not that of a decision: then it is made again.
std::optional<Decision> decision_from(const std::string& text);

}  // namespace taso::generator
