// DenseNet-121: Huang and others, Densely Connected Convolutional Networks, 2016, as in torchvision.
#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t growth = 32;

/// A layer that reads the features of all layers before it.
Value dense_layer(Builder& net, const std::vector<Value>& features) {
  const Value x = features.size() == 1 ? features.front() : net.concat(features);
  const Value y = net.conv(net.relu(net.batch_norm(x, "norm1")), "conv1", 4 * growth);
  return net.conv(net.relu(net.batch_norm(y, "norm2")), "conv2", growth, {.kernel = 3, .pad = 1});
}

Value dense_block(Builder& net, const Value& x, std::int64_t layers) {
  std::vector<Value> features{x};
  for (std::int64_t layer = 1; layer <= layers; ++layer) {
    const auto scope = net.scope(fmt::format("denselayer{}", layer));
    features.push_back(dense_layer(net, features));
  }
  return net.concat(features);
}

/// Halves the channels and the resolution.
Value transition(Builder& net, const Value& x) {
  const Value y = net.conv(net.relu(net.batch_norm(x, "norm")), "conv", x.channels() / 2);
  return net.average_pool(y, {.kernel = 2, .stride = 2});
}

}  // namespace

void build_densenet121(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {6, 12, 24, 16});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  {
    const auto features = net.scope("features");
    x = net.conv(x, "conv0", 2 * growth, {.kernel = 7, .stride = 2, .pad = 3});
    x = net.relu(net.batch_norm(x, "norm0"));
    x = net.max_pool(x, {.kernel = 3, .stride = 2, .pad = 1});
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      if (stage > 0) {
        const auto scope = net.scope(fmt::format("transition{}", stage));
        x = transition(net, x);
      }
      const auto scope = net.scope(fmt::format("denseblock{}", stage + 1));
      x = dense_block(net, x, blocks[stage]);
    }
    x = net.relu(net.batch_norm(x, "norm5"));
  }
  net.output(net.linear(net.pooled_features(x), "classifier", 1000), "logits");
}

}  // namespace taso::examples
