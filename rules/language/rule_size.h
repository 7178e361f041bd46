// The size of a rule.
#pragma once

#include <cstddef>

#include "rules/language/rule.h"

namespace taso::rules {

/// The number of operators of the larger side, counted as often as they occur: so a special case with equal operands is
/// not smaller than its law. Two results of one operator count once.
std::size_t size_of(const Rule& rule);

}  // namespace taso::rules
