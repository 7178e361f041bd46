// Mixtures of experts: Shazeer and others, Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts
// Layer, 2017, of the size of IBM's Granite 3.0 1B-A400M: each token chooses 8 of 32 experts. The form is that of
// Hugging Face's batched experts, which gather the matrices of the chosen ones. Each block has a norm and a residual.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"
#include "ops/core/error.h"

namespace taso::examples {
namespace {

constexpr std::int64_t width = 1024, inner_width = 512, experts = 32, chosen = 8;
constexpr double epsilon = 1e-6;

Value reduced(Builder& net, const Value& x, std::int64_t axis, bool keeps, const std::vector<std::int64_t>& shape,
              const Power& power) {
  return net.apply("ReduceSum", {x, net.integers({axis}, {1})}, shape, power,
                   {{"keepdims", std::int64_t{keeps}}, {"noop_with_empty_axes", std::int64_t{0}}});
}

/// The products of each row of x with the matrix of its expert, of [experts, features, depth].
Value expert_product(Builder& net, const Value& x, std::string_view name, std::int64_t features, const Value& expert) {
  const std::int64_t rows = x.shape[0], depth = x.shape[1];
  const double deviation = 1 / std::sqrt(static_cast<double>(depth) * x.power.total());
  const Value matrices = net.parameter(name, {experts, features, depth}, {0, deviation});
  const Value own = net.apply("GatherND", {matrices, expert}, {rows, features, depth}, matrices.power,
                              {{"batch_dims", std::int64_t{0}}});
  const Value last = net.integers({-1}, {1});
  const Value column = net.apply("Unsqueeze", {x, last}, {rows, depth, 1}, x.power);
  const Value product = net.apply("MatMul", {own, column}, {rows, features, 1}, {1, 0});
  return net.apply("Squeeze", {product, last}, {rows, features}, {1, 0});
}

/// The experts' part: x is [batch, tokens, width].
Value mixture(Builder& net, const Value& x) {
  const auto scope = net.scope("block_sparse_moe");
  const std::int64_t tokens = x.shape[1];
  const Value rows = net.reshape_wholly(x, {width}, tokens);
  const std::int64_t all = rows.shape[0], many = all == Builder::open_batch ? all : all * chosen;
  const Value last = net.integers({-1}, {1});
  // The gate has no bias.
  const Value gate = net.parameter("gate.weight", {experts, width}, {0, 1 / std::sqrt(double{width})});
  const Value scores =
      net.apply("Gemm", {rows, gate}, {all, experts}, {1, 0},
                {{"alpha", 1.0}, {"beta", 1.0}, {"transA", std::int64_t{0}}, {"transB", std::int64_t{1}}});
  const std::vector<Value> best = net.apply_for_several(
      "TopK", {net.softmax(scores), net.integers({chosen}, {1})}, {{all, chosen}, {all, chosen}}, {0, 0.02},
      {{"axis", std::int64_t{-1}}, {"largest", std::int64_t{1}}, {"sorted", std::int64_t{1}}});
  const Value sum = reduced(net, best[0], -1, true, {all, 1}, {0, 0.2});
  const Value share = net.apply("Div", {best[0], sum}, {all, chosen}, {0, 0.02});
  // Each token once for each of its experts.
  const Value repeated = net.apply("Expand", {net.unsqueeze(rows, 1), net.integers({1, chosen, 1}, {3})},
                                   {all, chosen, width}, rows.power);
  const Value each = net.apply("Reshape", {repeated, net.integers({-1, width}, {2})}, {many, width}, rows.power);
  const Value expert = net.apply("Reshape", {best[1], last}, {many}, {});
  const Value index = net.apply("Unsqueeze", {expert, last}, {many, 1}, {});
  const Value both = expert_product(net, each, "experts.gate_up_proj", 2 * inner_width, index);
  const std::vector<std::int64_t> half{many, inner_width};
  const std::vector<Value> parts = net.apply_for_several("Split", {both}, {half, half}, both.power,
                                                         {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}});
  const Value inner = net.multiply(silu(net, parts[0]), parts[1]);
  const Value result = expert_product(net, inner, "experts.down_proj", width, index);
  const Value weight =
      net.apply("Unsqueeze", {net.apply("Reshape", {share, last}, {many}, share.power), last}, {many, 1}, share.power);
  const Value weighted = net.apply("Mul", {result, weight}, {many, width}, {0.02, 0});
  const Value apart = net.reshape_wholly(weighted, {chosen, width}, tokens);
  return net.reshape_wholly(reduced(net, apart, 1, false, {all, width}, {0.16, 0}), {tokens, width});
}

}  // namespace

void build_moe_block(Builder& net, const Variant& variant) {
  if (net.type() == ElementType::bfloat16)
    throw InputError("moe_block has no bfloat16: TopK takes it from opset 24 on only");
  Value x = net.input("hidden_states", {variant.sequence, width});
  for (std::int64_t block = 0; block < (variant.blocks > 0 ? variant.blocks : 1); ++block) {
    const auto scope = net.scope(fmt::format("layers.{}", block));
    x = net.add(x, mixture(net, rms_norm(net, x, "post_attention_layernorm", epsilon)));
  }
  net.output(x, "last_hidden_state");
}

}  // namespace taso::examples
