// The attributes shared by convolutions and poolings. ONNX's automatic padding becomes explicit pads.
#pragma once

#include "onnx/lowering/lowering.h"

namespace taso::onnx::lowering {

struct Windows {
  std::vector<std::int64_t> strides, dilations, pads;
};

/// The attributes as they stand, whatever auto_pad says. Nothing if they are invalid.
std::optional<Windows> read_steps(const LoweringCall& call, const std::vector<std::int64_t>& kernel);
/// Nothing if the attributes are invalid, or the pads depend on an unknown dimension.
std::optional<Windows> read_windows(const LoweringCall& call, const std::vector<std::int64_t>& kernel);

}  // namespace taso::onnx::lowering
