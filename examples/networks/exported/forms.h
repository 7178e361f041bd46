// Layers in the form in which PyTorch's exporter writes them today (torch.onnx.export, opset 20 and newer): most layers
// are several nodes, and newer opsets have one node for some of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "examples/networks/builder.h"
#include "examples/networks/networks.h"

namespace taso::examples {

/// Sigmoid and Mul.
Value silu(Builder& net, const Value& x);
/// The node of opset 20.
Value exact_gelu(Builder& net, const Value& x);

/// The mean over height and width, which stay as 1.
Value pooled(Builder& net, const Value& x);

/// An InstanceNormalization without parameters of its own, between two reshapes, then scale and offset; from opset 21
/// on one node.
Value group_norm(Builder& net, const Value& x, std::string_view name, std::int64_t groups, double epsilon);
/// The mean of the squares, its root, and two products; from opset 23 on one node.
Value rms_norm(Builder& net, const Value& x, std::string_view name, double epsilon);

/// From [batch, tokens, width] to [batch, heads, tokens, head width].
Value split_heads(Builder& net, const Value& x, std::int64_t head_width);
/// And back.
Value join_heads(Builder& net, const Value& x);
/// Each of the heads as often as `queries` heads need it.
Value repeated_heads(Builder& net, const Value& x, std::int64_t queries);

/// scaled_dot_product_attention: of [batch, heads, tokens, head width] each. `mask` is added to the scores; rows that
/// are masked wholly become zeros. The scale is one over the root of the head width, unless the queries are scaled
/// already.
Value attention(Builder& net, const Value& query, const Value& key, const Value& value,
                const std::optional<Value>& mask = {}, bool is_scaled = false);

/// Keys and values of the tokens of a text so far.
struct Past {
  Value key, value;
};

/// The past of a decoder, in one of two forms: it grows by concatenation, or it is a cache of a fixed length (Hugging
/// Face's StaticCache), into which new tokens are written at an input `cache_position`.
class Pasts {
 public:
  /// Adds inputs, named as Hugging Face's, for each layer: [batch, heads, tokens, head width].
  Pasts(Builder& net, std::int64_t layers, std::int64_t heads, std::int64_t head_width, const Variant& variant);

  std::size_t layers() const { return pasts_.size(); }
  /// Makes the mask; before the first layer.
  void write_mask();
  /// What is added to the scores of the newest token, which sees all that there are: zeros, and minus infinity where a
  /// cache has none yet.
  const Value& mask() const { return mask_; }
  /// Keys and values of a layer with those of the new token.
  const Past& extended(std::size_t layer, const Value& key, const Value& value);
  /// Adds outputs of the same form as the inputs.
  void write_outputs();

 private:
  Value extended(const Value& past, const Value& x);

  Builder& net_;
  std::int64_t tokens_, seen_;  // without and with the new one
  std::vector<Past> pasts_;
  std::optional<Value> position_;  // of a cache
  Value mask_;
};

}  // namespace taso::examples
