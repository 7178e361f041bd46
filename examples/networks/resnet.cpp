// ResNet-50: He and others, Deep Residual Learning for Image Recognition, 2015. ResNeXt-50 32x4d: Xie and others,
// Aggregated Residual Transformations for Deep Neural Networks, 2016. Both as in torchvision, where the 3x3 convolution
// of a bottleneck has the stride ("v1.5"), not the 1x1 before it.
#include "examples/networks/resnet.h"

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t expansion = 4;

Value bottleneck(Builder& net, const Value& x, std::int64_t planes, std::int64_t stride, const ResNet& form) {
  const std::int64_t width = planes * form.group_width / 64 * form.groups;
  const std::int64_t channels = planes * expansion;
  Value y = net.relu(net.batch_norm(net.conv(x, "conv1", width), "bn1"));
  y = net.conv(y, "conv2", width, {.kernel = 3, .stride = stride, .pad = 1}, {.groups = form.groups});
  y = net.relu(net.batch_norm(y, "bn2"));
  y = net.batch_norm(net.conv(y, "conv3", channels), "bn3");
  if (stride == 1 && x.channels() == channels) return net.relu(net.add(y, x));
  const Value shortcut = net.batch_norm(net.conv(x, "downsample.0", channels, {.stride = stride}), "downsample.1");
  return net.relu(net.add(y, shortcut));
}

void classify_images(Builder& net, const Variant& variant, const ResNet& form) {
  const Value images = net.input("images", {3, variant.image_size, variant.image_size});
  const Value features = net.pooled_features(resnet_features(net, images, form));
  net.output(net.linear(features, "fc", 1000), "logits");
}

}  // namespace

Value resnet_features(Builder& net, Value x, const ResNet& form) {
  x = net.conv(x, "conv1", 64, {.kernel = 7, .stride = 2, .pad = 3});
  x = net.relu(net.batch_norm(x, "bn1"));
  x = net.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
  for (std::size_t stage = 0; stage < form.blocks.size(); ++stage)
    for (std::int64_t block = 0; block < form.blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("layer{}.{}", stage + 1, block));
      x = bottleneck(net, x, std::int64_t{64} << stage, block == 0 ? form.strides[stage] : 1, form);
    }
  return x;
}

void build_resnet50(Builder& net, const Variant& variant) {
  classify_images(net, variant, {.blocks = blocks_by_stage(variant, {3, 4, 6, 3})});
}

void build_resnext50(Builder& net, const Variant& variant) {
  classify_images(net, variant, {.blocks = blocks_by_stage(variant, {3, 4, 6, 3}), .groups = 32, .group_width = 4});
}

}  // namespace taso::examples
