// How large a rule is.
#pragma once

#include <cstddef>

#include "rules/rule.h"

namespace taso {

/// How many operators the larger side has; equal ones are one, whichever of their results is meant.
std::size_t size_of(const Rule& rule);

}  // namespace taso
