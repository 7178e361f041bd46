// Attention that ONNX Runtime has as one operator of its own domain, MultiHeadAttention. Unlike clean-ups, this is done
// only where somebody asks for it: other runtimes do not have the operator.
#pragma once

#include <string>
#include <vector>

#include "onnx/export/edit.h"

namespace taso::onnx {

/// The name under which certificates list it.
inline constexpr std::string_view fused_attention_pass = "onnxruntime-operators";

/// A place of a model where reshape(transpose(softmax(q kᵀ · scale + mask) v)) of known sizes is computed.
struct FusedAttention {
  /// An operand by the name of its value: [batch, length, heads * size], or [batch, heads, length, size] if its heads
  /// are apart.
  struct Operand {
    std::string name;
    bool is_apart = false;
  };
  std::string result;  ///< the name of what is computed
  Operand q, k, v;
  std::string mask;  ///< empty if there is none
  std::int64_t batch = 0, length = 0, heads = 0, size = 0;
  double scale = 1;
  std::string form;  ///< equal for places that differ in names only
};

/// All such places, in the order of the nodes.
std::vector<FusedAttention> fused_attentions(const GraphEdit& edit);
/// Computes the result by one node. What only the former nodes used is removed.
void fuse_attention(GraphEdit& edit, const FusedAttention& place);
/// A model of the place alone, as it is and fused.
std::pair<Model, Model> attention_models(const GraphEdit& edit, const Model& model, const FusedAttention& place);

}  // namespace taso::onnx
