// Llama decoders, one step: Touvron and others, LLaMA: Open and Efficient Foundation Language Models, 2023, as Hugging
// Face's LlamaModel is exported. The input is the state of one token; keys and values of the tokens before it are
// inputs, and outputs with the new one behind them, or in a cache (Variant::has_static_cache). The table of words and
// the last product are not part of it.
//
// `llama_1b` has the layers of Llama 3.2 1B, with four query heads for each head of keys and values. `llama_small` has
// a layout for tests and quick comparisons, with as many heads of each.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

struct Layout {
  std::int64_t layers, width, heads, key_heads, inner;
  double base;  // of the rotation's frequencies
};
constexpr Layout small{8, 512, 8, 8, 1408, 1e4}, one_billion{16, 2048, 32, 8, 8192, 5e5};
constexpr std::int64_t head_width = 64, tokens = 1;
constexpr double epsilon = 1e-5;

struct Rotation {
  Value cosine, sine;
};

/// How keys and queries turn at their position.
Rotation rotation(Builder& net, const Value& positions, double base) {
  const auto scope = net.scope("rotary_emb");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_width; i += 2)
    frequencies.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(head_width)));
  const std::vector<std::int64_t> half{positions.shape[0], tokens, head_width / 2};
  const std::vector<std::int64_t> whole{positions.shape[0], tokens, head_width};
  const Value place = net.cast(net.unsqueeze(positions, 2));
  const Value angles = net.apply("Mul", {place, net.reals(frequencies, {head_width / 2})}, half, {});
  const Value twice = net.apply("Concat", {angles, angles}, whole, {}, {{"axis", std::int64_t{-1}}});
  return {net.unsqueeze(net.apply("Cos", {twice}, whole, {0.5, 0}), 1),
          net.unsqueeze(net.apply("Sin", {twice}, whole, {0.5, 0}), 1)};
}

Value rotated(Builder& net, const Value& x, const Rotation& rotation) {
  const Value straight = net.multiply(x, rotation.cosine);
  const Value first = net.slice(x, 3, 0, head_width / 2), second = net.slice(x, 3, head_width / 2, head_width);
  const Value negative = net.apply("Neg", {second}, second.shape, second.power);
  const Value swapped = net.apply("Concat", {negative, first}, x.shape, x.power, {{"axis", std::int64_t{-1}}});
  return net.add(straight, net.multiply(swapped, rotation.sine));
}

Value self_attention(Builder& net, const Value& x, const Layout& layout, const Rotation& rotation, Pasts& pasts,
                     std::size_t layer) {
  const auto scope = net.scope("self_attn");
  const std::int64_t key_width = layout.key_heads * head_width;
  const Value query = split_heads(net, net.linear(x, "q_proj", layout.width, false), head_width);
  const Value key = split_heads(net, net.linear(x, "k_proj", key_width, false), head_width);
  const Value value = split_heads(net, net.linear(x, "v_proj", key_width, false), head_width);
  const Value turned = rotated(net, query, rotation);
  const Past& kept = pasts.extended(layer, rotated(net, key, rotation), value);
  const Value keys = repeated_heads(net, kept.key, layout.heads);
  const Value values = repeated_heads(net, kept.value, layout.heads);
  const Value context = attention(net, turned, keys, values, pasts.mask());
  return net.linear(join_heads(net, context), "o_proj", layout.width, false);
}

Value feed_forward(Builder& net, const Value& x, const Layout& layout) {
  const auto scope = net.scope("mlp");
  const Value gate = silu(net, net.linear(x, "gate_proj", layout.inner, false));
  const Value inner = net.multiply(gate, net.linear(x, "up_proj", layout.inner, false));
  return net.linear(inner, "down_proj", layout.width, false);
}

void build_llama(Builder& net, const Variant& variant, const Layout& layout) {
  const std::int64_t layers = variant.blocks > 0 ? variant.blocks : layout.layers;
  Value x = net.input("inputs_embeds", {tokens, layout.width});
  const Value positions = net.integer_input("position_ids", {tokens});
  Pasts pasts(net, layers, layout.key_heads, head_width, variant);
  const Rotation turn = rotation(net, positions, layout.base);
  pasts.write_mask();
  for (std::size_t layer = 0; layer < pasts.layers(); ++layer) {
    const auto scope = net.scope(fmt::format("layers.{}", layer));
    const Value normal = rms_norm(net, x, "input_layernorm", epsilon);
    x = net.add(x, self_attention(net, normal, layout, turn, pasts, layer));
    x = net.add(x, feed_forward(net, rms_norm(net, x, "post_attention_layernorm", epsilon), layout));
  }
  net.output(rms_norm(net, x, "norm", epsilon), "last_hidden_state");
  pasts.write_outputs();
}

}  // namespace

void build_llama_small(Builder& net, const Variant& variant) { build_llama(net, variant, small); }

void build_llama_1b(Builder& net, const Variant& variant) { build_llama(net, variant, one_billion); }

}  // namespace taso::examples
