// ResNet-18 and ResNet-50: He and others, Deep Residual Learning for Image Recognition, 2015. ResNeXt-50 32x4d: Xie and
// others, Aggregated Residual Transformations for Deep Neural Networks, 2016. ResNet3D-18: Tran and others, A Closer
// Look at Spatiotemporal Convolutions for Action Recognition, 2017 ("R3D"; r3d_18). All as in torchvision, where the
// 3x3 convolution of a bottleneck has the stride ("v1.5"), not the 1x1 before it.
#include "examples/networks/resnet.h"

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t expansion = 4;

/// The block's last batch norm, plus its input.
Value with_shortcut(Builder& net, const Value& y, const Value& x, std::int64_t stride) {
  if (stride == 1 && x.channels() == y.channels()) return net.relu(net.add(y, x));
  const Value shortcut = net.batch_norm(net.conv(x, "downsample.0", y.channels(), {.stride = stride}), "downsample.1");
  return net.relu(net.add(y, shortcut));
}

Value bottleneck(Builder& net, const Value& x, std::int64_t planes, std::int64_t stride, const ResNet& form) {
  const std::int64_t width = planes * form.group_width / 64 * form.groups;
  const std::int64_t channels = planes * expansion;
  Value y = net.relu(net.batch_norm(net.conv(x, "conv1", width), "bn1"));
  y = net.conv(y, "conv2", width, {.kernel = 3, .stride = stride, .pad = 1}, {.groups = form.groups});
  y = net.relu(net.batch_norm(y, "bn2"));
  y = net.batch_norm(net.conv(y, "conv3", channels), "bn3");
  return with_shortcut(net, y, x, stride);
}

Value basic_block(Builder& net, const Value& x, std::int64_t planes, std::int64_t stride) {
  Value y = net.conv(x, "conv1", planes, {.kernel = 3, .stride = stride, .pad = 1});
  y = net.relu(net.batch_norm(y, "bn1"));
  y = net.batch_norm(net.conv(y, "conv2", planes, {.kernel = 3, .pad = 1}), "bn2");
  return with_shortcut(net, y, x, stride);
}

Value stages(Builder& net, Value x, const ResNet& form) {
  for (std::size_t stage = 0; stage < form.blocks.size(); ++stage)
    for (std::int64_t block = 0; block < form.blocks[stage]; ++block) {
      const auto scope = net.scope(fmt::format("layer{}.{}", stage + 1, block));
      const std::int64_t planes = std::int64_t{64} << stage, stride = block == 0 ? form.strides[stage] : 1;
      x = form.has_bottlenecks ? bottleneck(net, x, planes, stride, form) : basic_block(net, x, planes, stride);
    }
  return x;
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
  return stages(net, x, form);
}

void build_resnet18(Builder& net, const Variant& variant) {
  classify_images(net, variant, {.blocks = blocks_by_stage(variant, {2, 2, 2, 2}), .has_bottlenecks = false});
}

void build_resnet3d_18(Builder& net, const Variant& variant) {
  constexpr std::int64_t frames = 16, actions = 400;
  Value x = net.input("videos", {3, frames, variant.image_size, variant.image_size});
  x = net.conv(x, "stem.0", 64, {.kernel = {3, 7, 7}, .stride = {1, 2, 2}, .pad = {1, 3, 3}});
  x = net.relu(net.batch_norm(x, "stem.1"));
  x = stages(net, x, {.blocks = blocks_by_stage(variant, {2, 2, 2, 2}), .has_bottlenecks = false});
  net.output(net.linear(net.pooled_features(x), "fc", actions), "logits");
}

void build_resnet50(Builder& net, const Variant& variant) {
  classify_images(net, variant, {.blocks = blocks_by_stage(variant, {3, 4, 6, 3})});
}

void build_resnext50(Builder& net, const Variant& variant) {
  classify_images(net, variant, {.blocks = blocks_by_stage(variant, {3, 4, 6, 3}), .groups = 32, .group_width = 4});
}

}  // namespace taso::examples
