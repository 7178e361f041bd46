// Random calls for our own kernels, of every kind: odd sizes, any layout, gaps between rows, all element types.
#pragma once

#include "cost/pricing/call.h"
#include "ops/core/random.h"

namespace taso::test {

struct RandomCall {
  cost::Call call;
  std::vector<bool> is_positive;  ///< operands that must be above 0, so that roots and quotients are well-behaved
  std::vector<std::uint32_t> masks = {};  ///< operands of 0 and -infinity, which often cover whole rows
};

RandomCall random_element_wise(Random& random);
/// One function; its operands may have different types.
RandomCall random_plain_function(Random& random);
RandomCall random_rows(Random& random);
RandomCall random_pooling(Random& random);
RandomCall random_local_response(Random& random);
RandomCall random_transposed_convolution(Random& random);
RandomCall random_copy(Random& random);
RandomCall random_direct_convolution(Random& random);
/// Of images in NHWC.
RandomCall random_depthwise_convolution(Random& random);
/// Convolutions and matmuls that tensor cores can do: NHWC, rows along the depth.
RandomCall random_tensor_product(Random& random);
/// Convolutions of single pixels, and matmuls with few rows.
RandomCall random_row_product(Random& random);
/// Attention with steps on the scores. Our own kernel does most of them.
RandomCall random_attention(Random& random);

}  // namespace taso::test
