// The attributes that convolutions and poolings share, with ONNX's automatic padding turned into explicit pads.
#pragma once

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {

struct Windows {
  std::vector<std::int64_t> strides, dilations, pads;
};

/// Nothing if the pads depend on a dimension that is not known.
std::optional<Windows> read_windows(const LoweringCall& call, const std::vector<std::int64_t>& kernel);

}  // namespace taso::onnx::lowering
