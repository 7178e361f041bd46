// BERT base and large, uncased: Devlin and others, BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding, 2018, as Hugging Face's BertModel is exported. Inputs are token ids, their mask and their types;
// outputs are the last layer's states and the pooled first token. Each layer norm is one node, as from opset 17 on.
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr double epsilon = 1e-12;
constexpr std::int64_t head_width = 64;

/// From [batch, tokens, width] to [batch, heads, tokens, 64], or with the last two axes swapped.
Value heads_of(Builder& net, const Value& x, bool turned) {
  const Value split = net.reshape(x, {x.shape[1], x.shape[2] / head_width, head_width});
  return net.transpose(split, turned ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3});
}

Value self_attention(Builder& net, const Value& x, const Value& mask) {
  const auto scope = net.scope("self");
  const std::int64_t width = x.shape[2];
  const Value query = heads_of(net, net.linear(x, "query", width), false);
  const Value key = heads_of(net, net.linear(x, "key", width), true);
  const Value value = heads_of(net, net.linear(x, "value", width), false);
  const Value scores = net.arithmetic("Div", net.matmul(query, key), std::sqrt(static_cast<double>(head_width)));
  Value context = net.matmul(net.softmax(net.add(scores, mask)), value);
  context.power = value.power;  // an average of values
  return net.reshape(net.transpose(context, {0, 2, 1, 3}), {x.shape[1], width});
}

Value encoder_layer(Builder& net, const Value& x, const Value& mask) {
  const std::int64_t width = x.shape[2];
  Value y;
  {
    const auto scope = net.scope("attention");
    const Value attended = self_attention(net, x, mask);
    const Value projected = net.linear(attended, "output.dense", width);
    y = net.layer_norm(net.add(projected, x), "output.LayerNorm", epsilon);
  }
  const Value inner = net.gelu(net.linear(y, "intermediate.dense", 4 * width));
  return net.layer_norm(net.add(net.linear(inner, "output.dense", width), y), "output.LayerNorm", epsilon);
}

Value embeddings(Builder& net, const Value& tokens, const Value& types, std::int64_t width) {
  const auto scope = net.scope("embeddings");
  const std::int64_t length = tokens.shape[1];
  std::vector<std::int64_t> places(static_cast<std::size_t>(length));
  std::iota(places.begin(), places.end(), 0);
  const Value words = net.embedding(tokens, "word_embeddings", 30522, width);
  const Value kinds = net.embedding(types, "token_type_embeddings", 2, width);
  const Value positions = net.embedding(net.integers(places, {1, length}), "position_embeddings", 512, width);
  return net.layer_norm(net.add(net.add(words, kinds), positions), "LayerNorm", epsilon);
}

/// 0 for tokens and -10000 for padding, to be added to the scores.
Value score_mask(Builder& net, const Value& mask) {
  const Value wide = net.cast(net.unsqueeze(net.unsqueeze(mask, 1), 2));
  return net.arithmetic("Mul", net.arithmetic("Sub", wide, 1, true), -10000);
}

void build_bert(Builder& net, const Variant& variant, std::int64_t layers, std::int64_t width) {
  const Value tokens = net.integer_input("input_ids", {variant.sequence});
  const Value attended = net.integer_input("attention_mask", {variant.sequence});
  const Value types = net.integer_input("token_type_ids", {variant.sequence});
  const Value mask = score_mask(net, attended);
  Value x = embeddings(net, tokens, types, width);
  for (std::int64_t layer = 0; layer < (variant.blocks > 0 ? variant.blocks : layers); ++layer) {
    const auto scope = net.scope(fmt::format("encoder.layer.{}", layer));
    x = encoder_layer(net, x, mask);
  }
  const Value pooled = net.tanh(net.linear(net.pick(x, 0), "pooler.dense", width));
  net.output(x, "last_hidden_state");
  net.output(pooled, "pooler_output");
}

}  // namespace

void build_bert_base(Builder& net, const Variant& variant) { build_bert(net, variant, 12, 768); }

void build_bert_large(Builder& net, const Variant& variant) { build_bert(net, variant, 24, 1024); }

}  // namespace taso::examples
