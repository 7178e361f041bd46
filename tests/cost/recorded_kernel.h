// Reconstructs a kernel from a call in a price list, as far as the roofline looks at it. So a price model can be
// compared with everything ever measured, without the networks it came from.
#pragma once

#include <string>

#include "cost/plan/kernel.h"

namespace taso::test {

/// Parses what text_of(Call) writes. Throws InputError for anything else. The kernel has no nodes or values.
cost::Kernel kernel_of_call(const std::string& text);

}  // namespace taso::test
