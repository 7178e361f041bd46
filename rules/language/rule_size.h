// How large a rule is.
#pragma once

#include <cstddef>

#include "rules/language/rule.h"

namespace taso::rules {

/// How many operators the larger side has, counted as often as they stand there: so a special case in which operands
/// are equal is no smaller than the law behind it. Two results of one operator count once.
std::size_t size_of(const Rule& rule);

}  // namespace taso::rules
