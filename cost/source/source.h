// CUDA C++ for calls that no library does in one launch. The text is written for one call: sizes and strides are numbers in
// it, so that the compiler can do index arithmetic ahead and the price of one is the price of all that look the same.
//
// The text is also valid C++ for a CPU with the few definitions that the tests put before it, so that what it computes can be
// compared with the operators' meaning where there is no GPU.
#pragma once

#include "cost/launch.h"

namespace taso {

/// All steps element-wise, any broadcasting, any strides; several may be written.
SourceLaunch element_wise_source(const Call& call);
/// A reduction, softmax or layer norm, with what is done element by element to what it reads before and to its result after.
SourceLaunch rows_source(const Call& call);
/// Average or maximum over windows, any number of spatial dimensions, either layout.
SourceLaunch pooling_source(const Call& call);
/// Pieces that are moved, in one launch; or a pad or enlarge.
SourceLaunch copy_source(const Call& call);
/// A convolution with few channels in each group, and its epilogue.
SourceLaunch direct_convolution_source(const Call& call);

}  // namespace taso
