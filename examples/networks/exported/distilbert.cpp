// DistilBERT base, uncased: Sanh and others, DistilBERT, a distilled version of BERT: smaller, faster, cheaper and
// lighter, 2019, as Hugging Face's DistilBertModel is exported. Inputs are token ids and their mask.
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t width = 768, head_width = 64;
constexpr double epsilon = 1e-12;

Value embeddings(Builder& net, const Value& tokens) {
  const auto scope = net.scope("embeddings");
  const std::int64_t length = tokens.shape[1];
  std::vector<std::int64_t> places(static_cast<std::size_t>(length));
  std::iota(places.begin(), places.end(), 0);
  const Value words = net.embedding(tokens, "word_embeddings", 30522, width);
  const Value positions = net.embedding(net.integers(places, {1, length}), "position_embeddings", 512, width);
  return net.layer_norm(net.add(words, positions), "LayerNorm", epsilon);
}

/// The mask for each image of scores: [batch, 1, 1, tokens].
Value spread_mask(Builder& net, const Value& flags) {
  const std::int64_t batch = flags.shape[0], length = flags.shape[1];
  if (batch == Builder::open_batch) return net.unsqueeze(net.unsqueeze(flags, 1), 2);
  std::vector<std::int64_t> places;
  for (std::int64_t text = 0; text < batch; ++text)
    for (std::int64_t token = 0; token < length; ++token) places.insert(places.end(), {text, token});
  return net.apply("GatherND", {flags, net.integers(places, {batch, 1, 1, length, 2})}, {batch, 1, 1, length}, {},
                   {{"batch_dims", std::int64_t{0}}});
}

/// 0 for tokens and the lowest number for padding, to be added to the scores: [batch, 1, tokens, tokens].
Value score_mask(Builder& net, const Value& attended) {
  const std::int64_t batch = attended.shape[0], length = attended.shape[1];
  const Value flags = net.cast_to_flags(attended);
  const Value rows = net.flags(std::vector<bool>(static_cast<std::size_t>(length), true), {1, 1, length, 1});
  const std::vector<std::int64_t> shape{batch, 1, length, length};
  const Value chosen = net.apply("And", {rows, spread_mask(net, flags)}, shape, {});
  return net.apply("Where", {chosen, net.reals({0}, {}), net.reals({net.lowest()}, {})}, shape, {0, 0});
}

Value self_attention(Builder& net, const Value& x, const Value& mask) {
  const auto scope = net.scope("attention");
  const Value query = split_heads(net, net.linear(x, "q_lin", width), head_width);
  const Value key = split_heads(net, net.linear(x, "k_lin", width), head_width);
  const Value value = split_heads(net, net.linear(x, "v_lin", width), head_width);
  return net.linear(join_heads(net, attention(net, query, key, value, mask)), "out_lin", width);
}

}  // namespace

void build_distilbert(Builder& net, const Variant& variant) {
  const Value tokens = net.integer_input("input_ids", {variant.sequence});
  const Value attended = net.integer_input("attention_mask", {variant.sequence});
  Value x = embeddings(net, tokens);
  const Value mask = score_mask(net, attended);
  for (std::int64_t layer = 0; layer < (variant.blocks > 0 ? variant.blocks : 6); ++layer) {
    const auto scope = net.scope(fmt::format("transformer.layer.{}", layer));
    x = net.layer_norm(net.add(self_attention(net, x, mask), x), "sa_layer_norm", epsilon);
    const Value inner = exact_gelu(net, net.linear(x, "ffn.lin1", 4 * width));
    x = net.layer_norm(net.add(net.linear(inner, "ffn.lin2", width), x), "output_layer_norm", epsilon);
  }
  net.output(x, "last_hidden_state");
}

}  // namespace taso::examples
