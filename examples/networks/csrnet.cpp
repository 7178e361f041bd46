// CSRNet: Li and others, CSRNet: Dilated Convolutional Neural Networks for Understanding the Highly Congested Scenes,
// 2018, configuration B, as in its authors' release: the first ten convolutions of VGG-16, and a back end whose
// convolutions have dilation 2. It takes images of any size. The benchmark of PET is the back end alone on maps of
// 14x14, those of images of 112x112.
#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

/// `count` convolutions, each with a ReLU. `index` counts the layers as the release names them.
Value convolutions(Builder& net, Value x, std::int64_t channels, std::int64_t count, std::int64_t dilation,
                   int& index) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Window window{.kernel = 3, .pad = dilation, .dilation = dilation};
    x = net.relu(net.conv(x, fmt::format("{}", index), channels, window, {.bias = true}));
    index += 2;
  }
  return x;
}

}  // namespace

void build_csrnet(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {2, 2, 3, 3, 3, 1, 1, 1});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  std::size_t stage = 0;
  {
    const auto scope = net.scope("frontend");
    int index = 0;
    for (const std::int64_t channels : {64, 128, 256, 512}) {
      if (stage > 0) {
        x = net.max_pool(x, {.kernel = 2, .stride = 2});
        ++index;
      }
      x = convolutions(net, x, channels, blocks[stage++], 1, index);
    }
  }
  {
    const auto scope = net.scope("backend");
    int index = 0;
    for (const std::int64_t channels : {512, 256, 128, 64})
      x = convolutions(net, x, channels, blocks[stage++], 2, index);
  }
  net.output(net.conv(x, "output_layer", 1, {}, {.bias = true}), "density");
}

}  // namespace taso::examples
