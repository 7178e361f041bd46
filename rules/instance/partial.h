// Tells which operators are undefined for some elements of their operands.
#pragma once

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {

/// Division, roots, powers, and operators made of them unless attributes rule out the exceptions: the mean of a window
/// in which no cell is counted, a norm that may divide by zero. Other operators are defined for all real operands.
bool may_be_undefined(const SymbolicOperator& op);

}  // namespace taso::rules
