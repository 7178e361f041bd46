// The trunk shared by the ResNets, ResNeXt-50 and SSD.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/networks/builder.h"

namespace taso::examples {

struct ResNet {
  std::vector<std::int64_t> blocks;  ///< blocks per stage; at most four stages
  std::vector<std::int64_t> strides = {1, 2, 2, 2};
  bool has_bottlenecks = true;    ///< false: blocks of two 3x3 convolutions
  std::int64_t groups = 1;        ///< of the 3x3 convolutions of bottlenecks
  std::int64_t group_width = 64;  ///< channels per group in the first stage
};

/// From the images, or the videos, to the last stage's feature map.
Value resnet_features(Builder& net, Value x, const ResNet& form);

}  // namespace taso::examples
