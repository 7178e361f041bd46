// Blocks of a diffusion model's U-Net, at the width and size of Stable Diffusion 1.5's second level of 256 x 256
// pictures: Rombach and others, High-Resolution Image Synthesis with Latent Diffusion Models, 2022. Each is a residual
// block of two convolutions and a self-attention over all places, both after a group norm.
#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t channels = 320, groups = 32, heads = 8;
constexpr double epsilon = 1e-5;

Value residual_block(Builder& net, const Value& x) {
  const auto scope = net.scope("resnet");
  const Window window{.kernel = 3, .pad = 1};
  Value y = silu(net, group_norm(net, x, "norm1", groups, epsilon));
  y = net.conv(y, "conv1", channels, window, {.bias = true});
  y = silu(net, group_norm(net, y, "norm2", groups, epsilon));
  return net.add(x, net.conv(y, "conv2", channels, window, {.bias = true}));
}

Value self_attention(Builder& net, const Value& x) {
  const auto scope = net.scope("attention");
  const std::int64_t places = x.shape[2] * x.shape[3];
  const Value normal = group_norm(net, x, "group_norm", groups, epsilon);
  const Value rows = net.transpose(net.reshape_wholly(normal, {channels, places}), {0, 2, 1});
  const Value query = split_heads(net, net.linear(rows, "to_q", channels), channels / heads);
  const Value key = split_heads(net, net.linear(rows, "to_k", channels), channels / heads);
  const Value value = split_heads(net, net.linear(rows, "to_v", channels), channels / heads);
  const Value joined = join_heads(net, attention(net, query, key, value));
  const Value columns = net.transpose(net.linear(joined, "to_out.0", channels), {0, 2, 1});
  return net.add(net.reshape_wholly(columns, {channels, x.shape[2], x.shape[3]}), x);
}

}  // namespace

void build_unet_block(Builder& net, const Variant& variant) {
  Value x = net.input("sample", {channels, variant.image_size, variant.image_size});
  for (std::int64_t block = 0; block < (variant.blocks > 0 ? variant.blocks : 2); ++block) {
    const auto scope = net.scope(fmt::format("blocks.{}", block));
    x = self_attention(net, residual_block(net, x));
  }
  net.output(x, "out_sample");
}

}  // namespace taso::examples
