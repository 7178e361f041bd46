#include "onnx/cleanup/cleanup.h"

#include "onnx/cleanup/passes.h"
#include "onnx/export/needed_nodes.h"
#include "onnx/import/node_body.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {
namespace {

struct Pass {
  CleanupPass about;
  void (*run)(const cleanup::Context&);
};

constexpr Pass passes[] = {
    {{"identity", "Identity and inference Dropout"}, cleanup::identity},
    {{"no-op", "Reshape, Transpose, Cast, Slice, Pad and others that change nothing"}, cleanup::no_op},
    {{"shape-arithmetic", "computations on shapes that are known"}, cleanup::shape_arithmetic},
    {{"reshape-targets", "computed targets of Reshape that 0 and -1 can express"}, cleanup::reshape_targets},
    {{"constant-folding", "nodes whose operands are all constant, if the file does not grow"},
     cleanup::constant_folding},
    {{"cluster-folding", "constants computed by several nodes, if the file grows by at most 1 %"},
     cleanup::cluster_folding},
    {{"dead-branches", "If with a known condition: the branch that it takes stands in its place"},
     cleanup::dead_branches},
    {{"common-subexpressions", "nodes that compute the same"}, cleanup::common_subexpressions},
    {{"neutral-operand", "x + 0, x - 0, x * 1, x / 1, x and true, x or false"}, cleanup::neutral_operand},
    {{"initial-state", "initial states of LSTM, GRU and RNN that are 0"}, cleanup::initial_state},
    {{"sequences",
      "views, transposes and slices in sequence; a product of matrices and a sum; views that cancel each other"},
     cleanup::sequences},
    {{"round-trips", "views and transposes that cancel each other around element-wise nodes"}, cleanup::round_trips},
    {{"batch-norm", "batch normalisation after a convolution, transposed or not, or Gemm"}, cleanup::batch_norm},
    {{"equal-weights", "weights with equal content"}, cleanup::equal_weights},
    {{"dead-code", "nodes that nothing uses"}, cleanup::dead_code},
    {{"unused-weights", "weights that nothing uses, most of them left behind by the other passes"},
     cleanup::unused_weights},
};

/// Every round removes something; this only guards against a pass that undoes another.
constexpr int most_rounds = 100;

std::size_t weight_bytes(const GraphEdit& edit) {
  std::size_t bytes = 0;
  for (const proto::TensorProto* tensor : edit.view().initializers) bytes += raw_bytes_of(*tensor).value_or(0);
  return bytes;
}

}  // namespace

std::vector<CleanupPass> cleanup_passes() {
  std::vector<CleanupPass> all;
  for (const Pass& pass : passes) all.push_back(pass.about);
  return all;
}

std::string cleanup::name_of(const proto::NodeProto& node) {
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.name();
}

std::vector<CleanupCount> clean_up(GraphEdit& edit, const CleanupOptions& options,
                                   std::vector<CleanupAction>* actions) {
  std::vector<CleanupCount> counts;
  for (const Pass& pass : passes) counts.push_back({pass.about.name, 0});
  // The graphs of a training model refer to each other by name in ways that the main graph does not show.
  if (edit.model().training_info_size() > 0) return counts;
  auto kept = needless_nodes(edit);
  // Keep nodes that are not known to be deterministic, used or not.
  for (const proto::NodeProto* node : edit.view().nodes)
    if (!is_deterministic(*node, opset_of(edit.model(), *node))) kept.insert(node);
  auto imported = edit.imported();
  std::size_t growth_left = weight_bytes(edit) / 100;
  for (int round = 0, quiet = 0; round < most_rounds && quiet < static_cast<int>(counts.size()); ++round)
    for (std::size_t i = 0; i < counts.size() && quiet < static_cast<int>(counts.size()); ++i) {
      ++quiet;
      if (options.disabled.contains(counts[i].pass)) continue;
      std::vector<std::string> done;
      passes[i].run({edit, *imported, options, done, growth_left});
      if (done.empty()) continue;
      counts[i].count += done.size();
      for (std::string& name : done)
        if (actions != nullptr) actions->push_back({counts[i].pass, std::move(name)});
      quiet = 0;
      imported = edit.imported();
    }
  // The passes that would remove these nodes may be disabled.
  remove_needless_nodes(edit, kept);
  edit.remove_unused_additions();
  return counts;
}

}  // namespace taso::onnx
