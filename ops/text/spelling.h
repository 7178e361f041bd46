// Suggests the name that a misspelt one was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The least number of insertions, deletions, replacements and swaps of neighbours that turns one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// "; did you mean 'matmul'?" with the first of the closest candidates. If none is close, the few that contain the
/// name: "; did you mean 'bert_base' or 'bert_large'?". Else empty.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace taso::ops
