// SSD300 with a ResNet-50 trunk: Liu and others, SSD: Single Shot MultiBox Detector, 2016. The trunk ends after its
// third stage, which keeps its resolution; the heads are those of NVIDIA's reference (DeepLearningExamples, SSD300
// v1.1). Outputs are the raw offsets and scores of all boxes, without decoding and suppression.
#include <array>

#include <fmt/format.h>

#include "examples/networks/networks.h"
#include "examples/networks/resnet.h"

namespace taso::examples {
namespace {

constexpr std::int64_t classes = 81;  // COCO's 80 and the background
constexpr std::array<std::int64_t, 6> boxes{4, 6, 6, 6, 4, 4};

/// A coarser feature map: a bottleneck, then half the resolution or, in the last two, two pixels less.
Value additional_block(Builder& net, const Value& x, std::size_t index) {
  constexpr std::array<std::int64_t, 5> widths{256, 256, 128, 128, 128}, channels{512, 512, 256, 256, 256};
  const auto scope = net.scope(fmt::format("additional_blocks.{}", index));
  Value y = net.relu(net.batch_norm(net.conv(x, "0", widths[index]), "1"));
  const Window window =
      index < 3 ? Window{.kernel = 3, .stride = 2, .pad = 1} : Window{.kernel = 3, .stride = 1, .pad = 0};
  y = net.conv(y, "3", channels[index], window);
  return net.relu(net.batch_norm(y, "4"));
}

}  // namespace

void build_ssd300(Builder& net, const Variant& variant) {
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  {
    const auto scope = net.scope("feature_extractor");
    x = resnet_features(net, x, {.blocks = blocks_by_stage(variant, {3, 4, 6}), .strides = {1, 2, 1}});
  }
  std::vector<Value> maps{x};
  for (std::size_t i = 0; i < 5; ++i) maps.push_back(additional_block(net, maps.back(), i));

  std::vector<Value> offsets, scores;
  const Window window{.kernel = 3, .pad = 1};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Value offset = net.conv(maps[i], fmt::format("loc.{}", i), boxes[i] * 4, window, {.bias = true});
    offsets.push_back(net.reshape(offset, {4, -1}));
    const Value score = net.conv(maps[i], fmt::format("conf.{}", i), boxes[i] * classes, window, {.bias = true});
    scores.push_back(net.reshape(score, {classes, -1}));
  }
  net.output(net.concat(offsets, 2), "locations");
  net.output(net.concat(scores, 2), "scores");
}

}  // namespace taso::examples
