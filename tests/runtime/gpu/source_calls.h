// Random calls for kernels of our own, of every kind: odd sizes, any layout, gaps between rows, all element types.
#pragma once

#include "cost/pricing/call.h"
#include "ops/core/random.h"

namespace taso::test {

struct RandomCall {
  cost::Call call;
  std::vector<bool> is_positive;  ///< operands that must be above 0, so that roots and quotients are tame
};

RandomCall random_element_wise(Random& random);
/// One function whose operands need not have one type.
RandomCall random_plain_function(Random& random);
RandomCall random_rows(Random& random);
RandomCall random_pooling(Random& random);
RandomCall random_local_response(Random& random);
RandomCall random_copy(Random& random);
RandomCall random_direct_convolution(Random& random);
/// Convolutions and matmuls as a tensor core can do them: channels last, rows along the depth.
RandomCall random_tensor_product(Random& random);

}  // namespace taso::test
