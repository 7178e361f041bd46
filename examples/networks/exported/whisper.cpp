// The encoder of Whisper tiny: Radford and others, Robust Speech Recognition via Large-Scale Weak Supervision, 2022, as
// Hugging Face's WhisperEncoder is exported. The input is a spectrogram of 80 frequencies, 100 frames for a second.
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t frequencies = 80, width = 384, head_width = 64, most_places = 1500;
constexpr double epsilon = 1e-5;

Value self_attention(Builder& net, const Value& x) {
  const auto scope = net.scope("self_attn");
  const Value scaled = net.arithmetic("Mul", net.linear(x, "q_proj", width), 1 / std::sqrt(double{head_width}));
  const Value query = split_heads(net, scaled, head_width);
  const Value key = split_heads(net, net.linear(x, "k_proj", width, false), head_width);
  const Value value = split_heads(net, net.linear(x, "v_proj", width), head_width);
  return net.linear(join_heads(net, attention(net, query, key, value, {}, true)), "out_proj", width);
}

}  // namespace

void build_whisper_tiny(Builder& net, const Variant& variant) {
  Value x = net.input("input_features", {frequencies, variant.sequence});
  x = exact_gelu(net, net.conv(x, "conv1", width, {.kernel = 3, .pad = 1}, {.bias = true}));
  x = exact_gelu(net, net.conv(x, "conv2", width, {.kernel = 3, .stride = 2, .pad = 1}, {.bias = true}));
  x = net.transpose(x, {0, 2, 1});
  std::vector<std::int64_t> places(static_cast<std::size_t>(x.shape[1]));
  std::iota(places.begin(), places.end(), 0);
  x = net.add(x, net.embedding(net.integers(places, {x.shape[1]}), "embed_positions", most_places, width));
  for (std::int64_t layer = 0; layer < (variant.blocks > 0 ? variant.blocks : 4); ++layer) {
    const auto scope = net.scope(fmt::format("layers.{}", layer));
    x = net.add(x, self_attention(net, net.layer_norm(x, "self_attn_layer_norm", epsilon)));
    const Value inner = net.linear(net.layer_norm(x, "final_layer_norm", epsilon), "fc1", 4 * width);
    x = net.add(x, net.linear(exact_gelu(net, inner), "fc2", width));
  }
  net.output(net.layer_norm(x, "layer_norm", epsilon), "last_hidden_state");
}

}  // namespace taso::examples
