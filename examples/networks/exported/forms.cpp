#include "examples/networks/exported/forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace taso::examples {

Value silu(Builder& net, const Value& x) {
  const Value gate = net.sigmoid(x);
  // The mean square of a normally distributed value's SiLU is 0.36; a little more keeps deep networks from growing.
  return net.apply("Mul", {x, gate}, x.shape, {0, 0.365 * x.power.total()});
}

Value exact_gelu(Builder& net, const Value& x) {
  return net.apply("Gelu", {x}, x.shape, {0, 0.43 * x.power.total()}, {{"approximate", std::string("none")}});
}

Value pooled(Builder& net, const Value& x) {
  // Neighbours are not independent.
  const Power power{x.power.centred * 0.5, x.power.positive * 0.5};
  return net.apply("ReduceMean", {x, net.integers({-1, -2}, {2})}, {x.shape[0], x.shape[1], 1, 1}, power,
                   {{"keepdims", std::int64_t{1}}, {"noop_with_empty_axes", std::int64_t{0}}});
}

Value group_norm(Builder& net, const Value& x, std::string_view name, std::int64_t groups, double epsilon) {
  const auto scope = net.scope(name);
  constexpr Spread scales{1, 0.1}, offsets{0, 0.1};
  const std::int64_t channels = x.channels();
  if (net.opset() >= 21) {
    const Value scale = net.parameter("weight", {channels}, scales),
                offset = net.parameter("bias", {channels}, offsets);
    return net.apply("GroupNormalization", {x, scale, offset}, x.shape, {1, 0},
                     {{"epsilon", epsilon}, {"num_groups", groups}});
  }
  const auto count = static_cast<std::size_t>(groups);
  const Value ones = net.reals(std::vector<double>(count, 1), {groups});
  const Value zeros = net.reals(std::vector<double>(count, 0), {groups});
  const Value grouped = net.apply("Reshape", {x, net.integers({0, groups, -1}, {3})},
                                  {x.shape[0], groups, channels / groups * x.shape[2] * x.shape[3]}, x.power,
                                  {{"allowzero", std::int64_t{0}}});
  const Value normal =
      net.apply("InstanceNormalization", {grouped, ones, zeros}, grouped.shape, {1, 0}, {{"epsilon", epsilon}});
  const Value whole = net.reshape_wholly(normal, {x.shape.begin() + 1, x.shape.end()});
  Value scaled = net.multiply(whole, net.parameter("weight", {channels, 1, 1}, scales));
  scaled = net.add(scaled, net.parameter("bias", {channels, 1, 1}, offsets));
  scaled.power = {1, 0};
  return scaled;
}

Value rms_norm(Builder& net, const Value& x, std::string_view name, double epsilon) {
  const auto scope = net.scope(name);
  const Value scale = net.parameter("weight", {x.shape.back()}, {1, 0.1});
  if (net.opset() >= 23)
    return net.apply("RMSNormalization", {x, scale}, x.shape, {1, 0},
                     {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
  std::vector<std::int64_t> narrow = x.shape;
  narrow.back() = 1;
  const Value squares = net.apply("Pow", {x, net.reals({2}, {})}, x.shape, {});
  const Value mean = net.apply("ReduceMean", {squares, net.integers({-1}, {1})}, narrow, {},
                               {{"keepdims", std::int64_t{1}}, {"noop_with_empty_axes", std::int64_t{0}}});
  const Value root = net.apply("Sqrt", {net.arithmetic("Add", mean, epsilon)}, narrow, {});
  const Value normal = net.apply("Mul", {x, net.apply("Reciprocal", {root}, narrow, {})}, x.shape, {1, 0});
  return net.apply("Mul", {scale, normal}, x.shape, {1, 0});
}

Value split_heads(Builder& net, const Value& x, std::int64_t head_width) {
  return net.transpose(net.reshape_wholly(x, {x.shape[1], x.shape[2] / head_width, head_width}), {0, 2, 1, 3});
}

Value join_heads(Builder& net, const Value& x) {
  return net.reshape_wholly(net.transpose(x, {0, 2, 1, 3}), {x.shape[2], x.shape[1] * x.shape[3]});
}

Value repeated_heads(Builder& net, const Value& x, std::int64_t queries) {
  const std::int64_t heads = x.shape[1], times = queries / heads;
  if (times == 1) return x;
  const std::vector<std::int64_t> shape{x.shape[0], heads, times, x.shape[2], x.shape[3]};
  // A 1 keeps the batch, whether it is open or not, and tokens whose number is open.
  const Value wanted = net.integers({1, heads, times, std::max<std::int64_t>(x.shape[2], 1), x.shape[3]}, {5});
  const Value many = net.apply("Expand", {net.unsqueeze(x, 2), wanted}, shape, x.power);
  return net.reshape_wholly(many, {queries, x.shape[2], x.shape[3]});
}

Value attention(Builder& net, const Value& query, const Value& key, const Value& value,
                const std::optional<Value>& mask, bool is_scaled) {
  const std::int64_t heads = key.shape[1], tokens = key.shape[2], width = key.shape[3];
  if (net.opset() >= 23) {
    std::vector<Value> operands{query, key, value};
    if (mask) operands.push_back(*mask);
    return net.apply(
        "Attention", operands, query.shape, value.power,
        {{"is_causal", std::int64_t{0}}, {"scale", is_scaled ? 1 : 1 / std::sqrt(static_cast<double>(width))}});
  }
  // The exporter moves the last two axes of any number of them.
  const Value flat = net.reshape_wholly(key, {tokens, width}, heads);
  const Value turned = net.reshape_wholly(net.transpose(flat, {0, 2, 1}), {heads, width, tokens});
  // Half of the scale on each side.
  const double scale = std::pow(static_cast<double>(width), -0.25);
  const auto scaled = [&](const Value& x) { return is_scaled ? x : net.arithmetic("Mul", x, scale); };
  const Value left = scaled(query);
  Value scores = net.matmul(left, scaled(turned));
  if (mask) scores = net.add(scores, *mask);
  Value shares = net.softmax(scores);
  if (mask) {
    const Value none = net.apply("IsNaN", {shares}, shares.shape, {});
    shares = net.apply("Where", {none, net.reals({0}, {}), shares}, shares.shape, shares.power);
  }
  Value context = net.matmul(shares, value);
  context.power = value.power;  // an average of values
  return context;
}

namespace {

/// Whether the token at a place exists, for each place of a cache, as a mask.
Value mask_of_cache(Builder& net, const Value& position, std::int64_t capacity) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < capacity; ++i) places.push_back(i);
  const std::vector<std::int64_t> shape{1, 1, 1, capacity};
  const Value here = net.apply("Reshape", {position, net.integers({1, 1, -1, 1}, {4})}, {1, 1, 1, 1}, {},
                               {{"allowzero", std::int64_t{0}}});
  const Value exists = net.apply("LessOrEqual", {net.integers(places, shape), here}, shape, {});
  const double none = -std::numeric_limits<double>::infinity();
  return net.apply("Where", {exists, net.reals({0}, {}), net.reals({none}, {})}, shape, {});
}

/// Zeros for each token of a past whose length is open, and for the new one.
Value mask_of_past(Builder& net, const Value& past) {
  const Value tokens = net.apply("Shape", {past}, {1}, {}, {{"start", std::int64_t{2}}, {"end", std::int64_t{3}}});
  const Value seen = net.apply("Add", {tokens, net.integers({1}, {1})}, {1}, {});
  const Value shape = net.apply("Concat", {net.integers({1, 1, 1}, {3}), seen}, {4}, {}, {{"axis", std::int64_t{0}}});
  return net.apply("Expand", {net.reals({0}, {}), shape}, {1, 1, 1, Builder::open_seen}, {});
}

}  // namespace

Pasts::Pasts(Builder& net, std::int64_t layers, std::int64_t heads, std::int64_t head_width, const Variant& variant)
    : net_(net),
      tokens_(variant.has_open_past ? Builder::open_past : variant.sequence),
      seen_(variant.has_open_past ? Builder::open_seen : variant.sequence + 1) {
  if (variant.has_static_cache) position_ = net.common_integers("cache_position", {1});
  const std::vector<std::int64_t> rest{heads, tokens_, head_width};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Value key = net.input(fmt::format("past_key_values.{}.key", layer), rest);
    pasts_.push_back({key, net.input(fmt::format("past_key_values.{}.value", layer), rest)});
  }
}

void Pasts::write_mask() {
  if (position_)
    mask_ = mask_of_cache(net_, *position_, tokens_);
  else if (tokens_ == Builder::open_past)
    mask_ = mask_of_past(net_, pasts_.front().key);
  else
    mask_ = net_.reals(std::vector<double>(static_cast<std::size_t>(seen_), 0), {1, 1, 1, seen_});
}

Value Pasts::extended(const Value& past, const Value& x) {
  if (!position_) {
    std::vector<std::int64_t> shape = past.shape;
    shape[2] = seen_;
    return net_.apply("Concat", {past, x}, shape, {1, 0}, {{"axis", std::int64_t{-2}}});
  }
  // index_copy along the tokens: the exporter moves them to the front for ScatterND.
  const std::vector<std::int64_t> to_front{2, 0, 1, 3}, back{1, 2, 0, 3};
  const Value tokens = net_.transpose(past, to_front);
  const Value places = net_.apply("Unsqueeze", {*position_, net_.integers({-1}, {1})}, {1, 1}, {});
  const Value written = net_.apply("ScatterND", {tokens, places, net_.transpose(x, to_front)}, tokens.shape, {1, 0},
                                   {{"reduction", std::string("none")}});
  return net_.transpose(written, back);
}

const Past& Pasts::extended(std::size_t layer, const Value& key, const Value& value) {
  pasts_[layer].key = extended(pasts_[layer].key, key);
  pasts_[layer].value = extended(pasts_[layer].value, value);
  return pasts_[layer];
}

void Pasts::write_outputs() {
  for (std::size_t layer = 0; layer < pasts_.size(); ++layer) {
    net_.output(pasts_[layer].key, fmt::format("present.{}.key", layer));
    net_.output(pasts_[layer].value, fmt::format("present.{}.value", layer));
  }
}

}  // namespace taso::examples
