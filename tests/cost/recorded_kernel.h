// What a call of a list of prices amounts to: the kernel that it was made of, as far as the roofline looks at it. So a model
// of prices can be held against everything that was ever measured, without the networks in which it was met.
#pragma once

#include <string>

#include "cost/plan/kernel.h"

namespace taso::test {

/// Of what text_of(Call) writes. Throws InputError if it is something else. The kernel has no nodes or values.
cost::Kernel kernel_of_call(const std::string& text);

}  // namespace taso::test
