// Guesses what somebody meant who misspelt a name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The fewest insertions, deletions, replacements and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// "; did you mean 'matmul'?" if one of the candidates is close, the first of the closest; else nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace taso::ops
