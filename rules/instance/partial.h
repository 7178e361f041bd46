// Which operators have no value for some elements of their operands.
#pragma once

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {

/// Division, roots, powers, and what is made of them unless its attributes rule the exceptions out: the mean of a
/// window in which no cell is counted, a norm that may divide by zero. Others have a value for all real operands.
bool may_be_undefined(const SymbolicOperator& op);

}  // namespace taso::rules
