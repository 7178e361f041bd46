// ViT-B/16: Dosovitskiy and others, An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale, 2020,
// with layers as timm writes and exports them: queries, keys and values in one product, as in the paper's appendix.
#include <cmath>

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t patch = 16, width = 768, heads = 12, head_width = width / heads;
constexpr double epsilon = 1e-6;

Value attention(Builder& net, const Value& x) {
  const auto scope = net.scope("attn");
  const std::int64_t tokens = x.shape[1];
  const Value together = net.reshape(net.linear(x, "qkv", 3 * width), {tokens, 3, heads, head_width});
  const std::vector<Value> parts = net.unstack(net.transpose(together, {2, 0, 3, 1, 4}));
  const Value query = net.arithmetic("Mul", parts[0], 1 / std::sqrt(static_cast<double>(head_width)));
  const Value scores = net.matmul(query, net.transpose(parts[1], {0, 1, 3, 2}));
  Value context = net.matmul(net.softmax(scores), parts[2]);
  context.power = parts[2].power;  // an average of values
  return net.linear(net.reshape(net.transpose(context, {0, 2, 1, 3}), {tokens, width}), "proj", width);
}

Value feed_forward(Builder& net, const Value& x) {
  const auto scope = net.scope("mlp");
  return net.linear(net.gelu(net.linear(x, "fc1", 4 * width)), "fc2", width);
}

}  // namespace

void build_vit(Builder& net, const Variant& variant) {
  const Value images = net.input("images", {3, variant.image_size, variant.image_size});
  const Value patches = net.conv(images, "patch_embed.proj", width, {.kernel = patch, .stride = patch}, {.bias = true});
  const std::int64_t count = patches.shape[2] * patches.shape[3];
  const Value sequence = net.transpose(net.reshape(patches, {width, count}), {0, 2, 1});
  const Value first = net.for_each_of_batch(net.parameter("cls_token", {1, 1, width}, {0, 1}), images);
  Value x = net.concat({first, sequence}, 1);
  x = net.add(x, net.parameter("pos_embed", {1, count + 1, width}, {0, 0.5}));
  for (std::int64_t layer = 0; layer < (variant.blocks > 0 ? variant.blocks : 12); ++layer) {
    const auto scope = net.scope(fmt::format("blocks.{}", layer));
    x = net.add(x, attention(net, net.layer_norm(x, "norm1", epsilon)));
    x = net.add(x, feed_forward(net, net.layer_norm(x, "norm2", epsilon)));
  }
  x = net.pick(net.layer_norm(x, "norm", epsilon), 0);
  net.output(net.linear(x, "head", 1000), "logits");
}

}  // namespace taso::examples
