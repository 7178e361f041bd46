// EfficientNet-B0: Tan and Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, 2019, as in
// torchvision. The exporter folds batch norms into the convolutions before them.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

Value unit(Builder& net, const Value& x, std::string_view name, std::int64_t channels, const Window& window = {},
           std::int64_t groups = 1) {
  return silu(net, net.conv(x, name, channels, window, {.groups = groups, .folded_norm = true}));
}

/// Squeeze and excitation: each channel is scaled by a function of all channels' means.
Value weighted(Builder& net, const Value& x, std::int64_t squeezed) {
  const Value inner = silu(net, net.conv(pooled(net, x), "fc1", squeezed, {}, {.bias = true}));
  const Value scale = net.sigmoid(net.conv(inner, "fc2", x.channels(), {}, {.bias = true}));
  return net.apply("Mul", {scale, x}, x.shape, {0, 0.315 * x.power.total()});
}

struct Stage {
  std::int64_t expansion, kernel, stride, channels;
};
constexpr std::array<Stage, 7> stages{
    {{1, 3, 1, 16}, {6, 3, 2, 24}, {6, 5, 2, 40}, {6, 3, 2, 80}, {6, 5, 1, 112}, {6, 5, 2, 192}, {6, 3, 1, 320}}};

Value inverted_residual(Builder& net, const Value& x, const Stage& stage, std::int64_t stride) {
  const auto scope = net.scope("block");
  const std::int64_t hidden = x.channels() * stage.expansion;
  int index = 0;
  Value y = stage.expansion == 1 ? x : unit(net, x, fmt::format("{}.0", index++), hidden);
  const Window window{.kernel = stage.kernel, .stride = stride, .pad = (stage.kernel - 1) / 2};
  y = unit(net, y, fmt::format("{}.0", index++), hidden, window, hidden);
  {
    const auto inner = net.scope(std::to_string(index++));
    y = weighted(net, y, std::max<std::int64_t>(1, x.channels() / 4));
  }
  y = net.conv(y, fmt::format("{}.0", index), stage.channels, {}, {.folded_norm = true});
  return stride == 1 && x.channels() == stage.channels ? net.add(y, x) : y;
}

}  // namespace

void build_efficientnet_b0(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {1, 2, 2, 3, 3, 4, 1});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  x = unit(net, x, "features.0.0", 32, {.kernel = 3, .stride = 2, .pad = 1});
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("features.{}.{}", stage + 1, block));
      x = inverted_residual(net, x, stages[stage], block == 0 ? stages[stage].stride : 1);
    }
  x = unit(net, x, "features.8.0", 1280);
  x = net.reshape_wholly(pooled(net, x), {1280});
  net.output(net.linear(x, "classifier.1", 1000), "logits");
}

}  // namespace taso::examples
