// CUDA C++ for calls that no library does in one launch. The text is generated for one call, with sizes and strides as
// literals: the compiler can do index arithmetic in advance, and calls with the same text have the same price.
//
// With a few definitions that the tests put before it, the text is also valid C++ for a CPU. So tests compare its
// results with the operators' meaning without a GPU.
//
// A kernel assumes that nothing it writes overlaps anything it reads, and that each operand is aligned to as many
// bytes, up to 16, as its rows are. That is the largest power of two that divides all of its strides along axes longer
// than 1 and, for an axis of stride 1, the length of that axis (`alignment_of` in space.h). Kernels then move several
// elements at once. A part of a row that is cut at another place does not have this alignment by itself. Weights are
// always aligned to 16 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// Kernels are cut into enough threads for this many multiprocessors, if possible: those of an H200.
inline constexpr std::int64_t usual_multiprocessors = 132;

/// Element-wise steps, with any broadcasting and any strides; may write several results.
SourceLaunch element_wise_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// A reduction, softmax or layer norm, fused with the element-wise steps before and after it.
SourceLaunch rows_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Average or maximum over windows, with any number of spatial dimensions, in either layout; or a local response norm
/// or a transposed convolution.
SourceLaunch pooling_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Divides each element by a power of the sum of squares of the channels around it, in either layout.
SourceLaunch local_response_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// A transposed convolution with any number of spatial dimensions, in either layout, without an epilogue.
SourceLaunch transposed_convolution_source(const cost::Call& call,
                                           std::int64_t multiprocessors = usual_multiprocessors);
/// Copies pieces in one launch; or a pad or enlarge.
SourceLaunch copy_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Takes parts along an axis, selected by the indices in another operand. Indices out of range are clamped.
SourceLaunch gather_source(const cost::Call& call);
/// A convolution with few channels per group, and its epilogue.
SourceLaunch direct_convolution_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

/// A convolution of each channel with its own filter, in NHWC, with its epilogue: the tilings, each with its name.
/// Empty if this kernel cannot do the call.
std::vector<std::pair<std::string, SourceLaunch>> depthwise_convolution_sources(
    const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

/// A convolution or matmul with its epilogue on tensor cores: the tilings, most promising first, each with its name.
/// Empty if this kernel cannot do the call. float32 that may not be rounded to TF32 is multiplied in two parts of 11
/// bits each.
std::vector<std::pair<std::string, SourceLaunch>> tensor_product_sources(
    const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

/// A product of few rows with its epilogue, as fast as its weights can be read: as above.
std::vector<std::pair<std::string, SourceLaunch>> row_product_sources(
    const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

/// Attention as one kernel, with its steps before the softmax and after the second product: as above.
std::vector<std::pair<std::string, SourceLaunch>> attention_sources(
    const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

}  // namespace taso::gpu
