// MobileNet-v2: Sandler and others, MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, as in torchvision.
#include <array>

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

/// A convolution without bias, its batch norm and a ReLU6.
Value unit(Builder& net, const Value& x, std::string_view name, std::int64_t channels, const Window& window = {},
           const ConvStyle& style = {}) {
  const auto scope = net.scope(name);
  return net.relu6(net.batch_norm(net.conv(x, "0", channels, window, style), "1"));
}

/// Wide in the middle, with a linear output.
Value inverted_residual(Builder& net, const Value& x, std::int64_t expansion, std::int64_t channels,
                        std::int64_t stride) {
  const auto scope = net.scope("conv");
  const std::int64_t hidden = x.channels() * expansion;
  int index = 0;
  Value y = expansion == 1 ? x : unit(net, x, std::to_string(index++), hidden);
  const Window depthwise{.kernel = 3, .stride = stride, .pad = 1};
  y = unit(net, y, std::to_string(index++), hidden, depthwise, {.groups = hidden});
  y = net.conv(y, std::to_string(index++), channels);
  y = net.batch_norm(y, std::to_string(index));
  return stride == 1 && x.channels() == channels ? net.add(x, y) : y;
}

struct Stage {
  std::int64_t expansion, channels, stride;
};
constexpr std::array<Stage, 7> stages{{
    {1, 16, 1},
    {6, 24, 2},
    {6, 32, 2},
    {6, 64, 2},
    {6, 96, 1},
    {6, 160, 2},
    {6, 320, 1},
}};

}  // namespace

void build_mobilenet_v2(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {1, 2, 3, 4, 3, 3, 1});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  x = unit(net, x, "features.0", 32, {.kernel = 3, .stride = 2, .pad = 1});
  int index = 1;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("features.{}", index++));
      const auto& [expansion, channels, stride] = stages[stage];
      x = inverted_residual(net, x, expansion, channels, block == 0 ? stride : 1);
    }
  x = unit(net, x, fmt::format("features.{}", index), 1280);
  net.output(net.linear(net.pooled_features(x), "classifier.1", 1000), "logits");
}

}  // namespace taso::examples
