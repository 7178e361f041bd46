// The trunk shared by ResNet-50, ResNeXt-50 and SSD.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/networks/builder.h"

namespace taso::examples {

struct ResNet {
  std::vector<std::int64_t> blocks;  ///< bottlenecks per stage; at most four stages
  std::vector<std::int64_t> strides = {1, 2, 2, 2};
  std::int64_t groups = 1;
  std::int64_t group_width = 64;  ///< channels per group in the 3x3 convolutions of the first stage
};

/// From the images to the last stage's feature map.
Value resnet_features(Builder& net, Value x, const ResNet& form);

}  // namespace taso::examples
