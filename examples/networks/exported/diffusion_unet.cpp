// The U-Net of Stable Diffusion 1.5: Rombach and others, High-Resolution Image Synthesis with Latent Diffusion Models,
// 2022, as diffusers' UNet2DConditionModel is exported. Inputs are the noisy picture, of 64 x 64 places with four
// numbers each, the time, and the states of the 77 tokens of the text.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t groups = 32, heads = 8, text_tokens = 77, text_width = 768;
constexpr double epsilon = 1e-5, attention_epsilon = 1e-6;
constexpr Window same_size{.kernel = 3, .pad = 1};

/// What all blocks see.
struct Surroundings {
  Value time, text;
};

/// Sines and cosines of the time at many frequencies, and two layers; with the activation that all blocks put first.
Value time_embedding(Builder& net, const Value& step, std::int64_t width) {
  const auto scope = net.scope("time_embedding");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(1e4, -static_cast<double>(i) / static_cast<double>(width / 2)));
  const std::int64_t batch = step.shape[0];
  const std::vector<std::int64_t> half{batch, width / 2}, whole{batch, width};
  const Value angles =
      net.apply("Mul", {net.cast(net.unsqueeze(step, 1)), net.reals(frequencies, {1, width / 2})}, half, {});
  const Value sines = net.apply("Sin", {angles}, half, {0.5, 0}), cosines = net.apply("Cos", {angles}, half, {0.5, 0});
  const Value both = net.apply("Concat", {sines, cosines}, whole, {0.5, 0}, {{"axis", std::int64_t{-1}}});
  // diffusers puts the cosines first by cutting the sines off and joining them again.
  const Value swapped = net.apply("Concat", {net.slice(both, 1, width / 2, width), net.slice(both, 1, 0, width / 2)},
                                  whole, {0.5, 0}, {{"axis", std::int64_t{-1}}});
  return silu(net, net.linear(silu(net, net.linear(swapped, "linear_1", 4 * width)), "linear_2", 4 * width));
}

Value residual_block(Builder& net, const Value& x, std::string_view name, std::int64_t channels,
                     const Surroundings& around) {
  const auto scope = net.scope(name);
  Value y =
      net.conv(silu(net, group_norm(net, x, "norm1", groups, epsilon)), "conv1", channels, same_size, {.bias = true});
  const Value time = net.linear(around.time, "time_emb_proj", channels);
  y = net.add(y,
              net.apply("Unsqueeze", {time, net.integers({2, 3}, {2})}, {time.shape[0], channels, 1, 1}, time.power));
  y = net.conv(silu(net, group_norm(net, y, "norm2", groups, epsilon)), "conv2", channels, same_size, {.bias = true});
  return net.add(x.channels() == channels ? x : net.conv(x, "conv_shortcut", channels, {}, {.bias = true}), y);
}

Value attended(Builder& net, const Value& x, std::string_view name, const Value& seen) {
  const auto scope = net.scope(name);
  const std::int64_t width = x.shape[2];
  const Value query = split_heads(net, net.linear(x, "to_q", width, false), width / heads);
  const Value key = split_heads(net, net.linear(seen, "to_k", width, false), width / heads);
  const Value value = split_heads(net, net.linear(seen, "to_v", width, false), width / heads);
  return net.linear(join_heads(net, attention(net, query, key, value)), "to_out.0", width);
}

/// Half of the inner features are the gates of the others.
Value gated_feed_forward(Builder& net, const Value& x) {
  const auto scope = net.scope("ff.net");
  const std::int64_t width = x.shape[2];
  const Value both = net.linear(x, "0.proj", 8 * width);
  std::vector<std::int64_t> half = both.shape;
  half[2] = 4 * width;
  const std::vector<Value> parts = net.apply_for_several("Split", {both}, {half, half}, both.power,
                                                         {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{2}}});
  return net.linear(net.multiply(parts[0], exact_gelu(net, parts[1])), "2", width);
}

/// Each place attends to all others, then to the text.
Value transformer(Builder& net, const Value& x, std::string_view name, const Surroundings& around) {
  const auto scope = net.scope(name);
  const std::int64_t channels = x.channels(), height = x.shape[2], width = x.shape[3];
  Value y = net.conv(group_norm(net, x, "norm", groups, attention_epsilon), "proj_in", channels, {}, {.bias = true});
  y = net.reshape_wholly(net.transpose(y, {0, 2, 3, 1}), {height * width, channels});
  {
    const auto inner = net.scope("transformer_blocks.0");
    const Value itself = net.layer_norm(y, "norm1", epsilon);
    y = net.add(attended(net, itself, "attn1", itself), y);
    y = net.add(attended(net, net.layer_norm(y, "norm2", epsilon), "attn2", around.text), y);
    y = net.add(gated_feed_forward(net, net.layer_norm(y, "norm3", epsilon)), y);
  }
  y = net.transpose(net.reshape_wholly(y, {height, width, channels}), {0, 3, 1, 2});
  return net.add(net.conv(y, "proj_out", channels, {}, {.bias = true}), x);
}

}  // namespace

void build_diffusion_unet(Builder& net, const Variant& variant) {
  const std::int64_t first = variant.width, blocks = variant.blocks > 0 ? variant.blocks : 2;
  const std::array<std::int64_t, 4> widths{first, 2 * first, 4 * first, 4 * first};
  const Value sample = net.input("sample", {4, variant.image_size, variant.image_size});
  const Value step = net.integer_input("timestep", {});
  const Value text = net.input("encoder_hidden_states", {text_tokens, text_width});
  const Surroundings around{time_embedding(net, step, first), text};

  Value x = net.conv(sample, "conv_in", first, same_size, {.bias = true});
  std::vector<Value> skipped{x};
  for (std::size_t level = 0; level < widths.size(); ++level) {
    const auto scope = net.scope(fmt::format("down_blocks.{}", level));
    const bool is_last = level + 1 == widths.size();
    for (std::int64_t block = 0; block < blocks; ++block) {
      x = residual_block(net, x, fmt::format("resnets.{}", block), widths[level], around);
      if (!is_last) x = transformer(net, x, fmt::format("attentions.{}", block), around);
      skipped.push_back(x);
    }
    if (is_last) break;
    x = net.conv(x, "downsamplers.0.conv", widths[level], {.kernel = 3, .stride = 2, .pad = 1}, {.bias = true});
    skipped.push_back(x);
  }
  {
    const auto scope = net.scope("mid_block");
    x = residual_block(net, x, "resnets.0", widths.back(), around);
    x = transformer(net, x, "attentions.0", around);
    x = residual_block(net, x, "resnets.1", widths.back(), around);
  }
  for (std::size_t level = 0; level < widths.size(); ++level) {
    const auto scope = net.scope(fmt::format("up_blocks.{}", level));
    const std::int64_t channels = widths[widths.size() - 1 - level];
    for (std::int64_t block = 0; block < blocks + 1; ++block) {
      x = net.concat({x, skipped.back()});
      skipped.pop_back();
      x = residual_block(net, x, fmt::format("resnets.{}", block), channels, around);
      if (level > 0) x = transformer(net, x, fmt::format("attentions.{}", block), around);
    }
    if (level + 1 < widths.size())
      x = net.conv(net.upsampled(x), "upsamplers.0.conv", channels, same_size, {.bias = true});
  }
  x = silu(net, group_norm(net, x, "conv_norm_out", groups, epsilon));
  net.output(net.conv(x, "conv_out", 4, same_size, {.bias = true}), "out_sample");
}

}  // namespace taso::examples
