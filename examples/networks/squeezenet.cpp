// SqueezeNet 1.1: Iandola and others, SqueezeNet: AlexNet-level Accuracy with 50x Fewer Parameters, 2016, in its
// authors' release that needs 2.4 times less arithmetic, as in torchvision.
#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

Value biased(Builder& net, const Value& x, std::string_view name, std::int64_t channels, const Window& window = {}) {
  return net.relu(net.conv(x, name, channels, window, {.bias = true}));
}

Value fire(Builder& net, const Value& x, std::int64_t squeezed, std::int64_t expanded) {
  const Value y = biased(net, x, "squeeze", squeezed);
  return net.concat(
      {biased(net, y, "expand1x1", expanded), biased(net, y, "expand3x3", expanded, {.kernel = 3, .pad = 1})});
}

}  // namespace

void build_squeezenet(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {2, 2, 2, 2});
  const Window pooling{.kernel = 3, .stride = 2, .round_up = true};
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  x = biased(net, x, "features.0", 64, {.kernel = 3, .stride = 2});
  int index = 2;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    if (stage < 3) {  // the last two widths have the same resolution
      x = net.max_pool(x, pooling);
      ++index;
    }
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("features.{}", index++));
      const auto width = static_cast<std::int64_t>(stage + 1);
      x = fire(net, x, 16 * width, 64 * width);
    }
  }
  net.output(net.pooled_features(biased(net, x, "classifier.1", 1000)), "logits");
}

}  // namespace taso::examples
