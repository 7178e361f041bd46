// CUDA C++ for calls that no library does in one launch. The text is written for one call: sizes and strides are numbers in
// it, so that the compiler can do index arithmetic ahead and the price of one is the price of all that look the same.
//
// The text is also valid C++ for a CPU with the few definitions that the tests put before it, so that what it computes can be
// compared with the operators' meaning where there is no GPU.
//
// What a kernel takes for granted: nothing that it writes overlaps anything that it reads; and an operand begins at a multiple
// of as many bytes, up to 16, as its rows do. That is what divides all of its strides along axes longer than 1 and, along an
// axis of stride 1, the length of that axis (`alignment_of` in space.h): several elements are moved at once then. A part of a
// row that is cut somewhere else does not begin so by itself. Weights always begin at a multiple of 16 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu {

/// Kernels are cut into enough threads to keep so many multiprocessors busy, where they can be: those of an H200.
inline constexpr std::int64_t usual_multiprocessors = 132;

/// All steps element-wise, any broadcasting, any strides; several may be written.
SourceLaunch element_wise_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// A reduction, softmax or layer norm, with what is done element by element to what it reads before and to its result after.
SourceLaunch rows_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Average or maximum over windows, any number of spatial dimensions, either layout; or the one below.
SourceLaunch pooling_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Each element divided by a power of the squares of the channels around it, either layout.
SourceLaunch local_response_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Pieces that are moved, in one launch; or a pad or enlarge.
SourceLaunch copy_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);
/// Parts along an axis, as another operand counts them out. One that is out of range becomes the nearest that is not.
SourceLaunch gather_source(const cost::Call& call);
/// A convolution with few channels in each group, and its epilogue.
SourceLaunch direct_convolution_source(const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

/// A convolution or matmul with its epilogue, on tensor cores: ways to cut it up, the most promising first, each with its
/// name. None if it is none for this kernel. float32 that may not be rounded to TF32 is
/// multiplied in two parts of 11 bits each.
std::vector<std::pair<std::string, SourceLaunch>> tensor_product_sources(
    const cost::Call& call, std::int64_t multiprocessors = usual_multiprocessors);

}  // namespace taso::gpu
