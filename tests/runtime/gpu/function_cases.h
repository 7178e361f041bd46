// Random nodes of the opaque operators that our kernels compute: odd sizes, ranks 0 to 5, axes of extent 1, all element
// types, NaN and infinities.
#pragma once

#include <string>
#include <vector>

#include "ops/core/random.h"
#include "ops/graph/plain_function.h"

namespace taso::test {

struct FunctionCase {
  PlainFunction function = {"", 21, {}, {}};
  std::vector<std::optional<Array>> operands = {};
  std::size_t results = 1;
  bool is_exact = false;  ///< else floating-point results may be rounded differently
};

/// The operators that have cases.
std::vector<std::string> function_names();
FunctionCase random_function(const std::string& name, Random& random);

}  // namespace taso::test
