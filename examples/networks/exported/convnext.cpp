// ConvNeXt tiny: Liu and others, A ConvNet for the 2020s, 2022, as in torchvision. Layer norms and products work on
// channels that are last, between transposes.
#include <array>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::array<std::int64_t, 4> widths{96, 192, 384, 768};
constexpr double epsilon = 1e-6;

Value channels_last(Builder& net, const Value& x) { return net.transpose(x, {0, 2, 3, 1}); }

Value channels_first(Builder& net, const Value& x) { return net.transpose(x, {0, 3, 1, 2}); }

/// A layer norm over the channels of images.
Value image_norm(Builder& net, const Value& x, std::string_view name) {
  return channels_first(net, net.layer_norm(channels_last(net, x), name, epsilon));
}

Value convnext_block(Builder& net, const Value& x) {
  const std::int64_t width = x.channels();
  Value y = net.conv(x, "block.0", width, {.kernel = 7, .pad = 3}, {.groups = width, .bias = true});
  y = net.layer_norm(channels_last(net, y), "block.2", epsilon);
  y = net.linear(exact_gelu(net, net.linear(y, "block.3", 4 * width)), "block.5", width);
  y = channels_first(net, y);
  const Value scale = net.parameter("layer_scale", {width, 1, 1}, {0.5, 0.1});
  return net.add(net.apply("Mul", {scale, y}, y.shape, {0.26 * y.power.total(), 0}), x);
}

}  // namespace

void build_convnext_tiny(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {3, 3, 9, 3});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  x = image_norm(net, net.conv(x, "features.0.0", widths[0], {.kernel = 4, .stride = 4}, {.bias = true}),
                 "features.0.1");
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    if (stage > 0) {
      const auto scope = net.scope(fmt::format("features.{}", 2 * stage));
      x = net.conv(image_norm(net, x, "0"), "1", widths[stage], {.kernel = 2, .stride = 2}, {.bias = true});
    }
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("features.{}.{}", 2 * stage + 1, block));
      x = convnext_block(net, x);
    }
  }
  x = net.reshape_wholly(image_norm(net, pooled(net, x), "classifier.0"), {widths.back()});
  net.output(net.linear(x, "classifier.2", 1000), "logits");
}

}  // namespace taso::examples
