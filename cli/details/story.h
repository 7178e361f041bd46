// The changes of a run in words, for `taso-opt --explain`.
#pragma once

#include <string>

#include "cli/details/changes.h"

namespace taso::cli {

/// What was done where, by which rule, and why it was allowed there; equal changes once. Several lines.
std::string story_of(const Details& details);

}  // namespace taso::cli
