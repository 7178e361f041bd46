// GPT-2, one step: Radford and others, Language Models are Unsupervised Multitask Learners, 2019, as Hugging Face's
// GPT2LMHeadModel is exported. Inputs are a token with its position, and keys and values of the tokens before it, which
// are outputs too, with the new one behind them, or in a cache (Variant::has_static_cache). The table of words is the
// last product's matrix as well.
#include <cmath>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t width = 768, heads = 12, head_width = width / heads, words = 50257, most_tokens = 1024;
constexpr double epsilon = 1e-5;

/// Its products are of matrices, with weights that are not transposed.
Value product(Builder& net, const Value& x, std::string_view name, std::int64_t features) {
  const auto scope = net.scope(name);
  const std::int64_t tokens = x.shape[1], depth = x.shape[2];
  const Value rows = net.reshape_wholly(x, {depth}, tokens);
  const Value weight =
      net.parameter("weight", {depth, features}, {0, 1 / std::sqrt(static_cast<double>(depth) * x.power.total())});
  const Value result =
      net.apply("Gemm", {rows, weight, net.parameter("bias", {features}, {0, 0.05})}, {rows.shape[0], features}, {1, 0},
                {{"alpha", 1.0}, {"beta", 1.0}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{0}}});
  return net.reshape_wholly(result, {tokens, features});
}

/// With a hyperbolic tangent, operator by operator.
Value approximate_gelu(Builder& net, const Value& x) {
  const Value half = net.arithmetic("Mul", x, 0.5);
  const Value cube = net.arithmetic("Mul", net.apply("Pow", {x, net.reals({3}, {})}, x.shape, x.power), 0.044715);
  const Value bend = net.tanh(net.arithmetic("Mul", net.add(x, cube), std::sqrt(2 / 3.14159265358979323846)));
  return net.apply("Mul", {half, net.arithmetic("Add", bend, 1)}, x.shape, {0, 0.43 * x.power.total()});
}

Value self_attention(Builder& net, const Value& x, Pasts& pasts, std::size_t layer) {
  const auto scope = net.scope("attn");
  const Value together = product(net, x, "c_attn", 3 * width);
  const std::vector<std::int64_t> shape = x.shape;
  const std::vector<Value> parts = net.apply_for_several("Split", {together}, {shape, shape, shape}, together.power,
                                                         {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}});
  const Value key = split_heads(net, parts[1], head_width), value = split_heads(net, parts[2], head_width);
  const Value query = split_heads(net, parts[0], head_width);
  const Past& past = pasts.extended(layer, key, value);
  return product(net, join_heads(net, attention(net, query, past.key, past.value, pasts.mask())), "c_proj", width);
}

}  // namespace

void build_gpt2(Builder& net, const Variant& variant) {
  const Value token = net.integer_input("input_ids", {1}), position = net.integer_input("position_ids", {1});
  Pasts pasts(net, variant.blocks > 0 ? variant.blocks : 12, heads, head_width, variant);
  const Value table = net.parameter("wte.weight", {words, width}, {0, 0.14});
  const Value places = net.parameter("wpe.weight", {most_tokens, width}, {0, 0.1});
  const std::vector<std::int64_t> shape{token.shape[0], 1, width};
  Value x = net.apply("Gather", {table, token}, shape, table.power, {{"axis", std::int64_t{0}}});
  x = net.add(x, net.apply("Gather", {places, position}, shape, places.power, {{"axis", std::int64_t{0}}}));
  pasts.write_mask();
  for (std::size_t layer = 0; layer < pasts.layers(); ++layer) {
    const auto scope = net.scope(fmt::format("h.{}", layer));
    x = net.add(self_attention(net, net.layer_norm(x, "ln_1", epsilon), pasts, layer), x);
    const Value inner = product(net, net.layer_norm(x, "ln_2", epsilon), "mlp.c_fc", 4 * width);
    x = net.add(x, product(net, approximate_gelu(net, inner), "mlp.c_proj", width));
  }
  x = net.layer_norm(x, "ln_f", epsilon);
  net.output(net.matmul(x, net.transpose(table, {1, 0})), "logits");
  pasts.write_outputs();
}

}  // namespace taso::examples
