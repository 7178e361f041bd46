// The passes behind clean_up(). Each reads the model as it is when the pass starts, and reports where it acted.
#pragma once

#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"

namespace taso::onnx::cleanup {

struct Context {
  GraphEdit& edit;
  const ImportedModel& imported;  ///< the model before the pass
  const CleanupOptions& options;
  std::vector<std::string>& done;  ///< the nodes and weights at which the pass acted
  std::size_t& growth_left;        ///< bytes by which folding clusters of nodes may still enlarge the file
};

/// The name under which a node is reported.
std::string name_of(const proto::NodeProto& node);

/// Makes all users of `output` use `input` and removes the node between them. Returns false if the model's interface or
/// a subgraph prevents that.
bool bypass(GraphEdit& edit, const proto::NodeProto& node, const std::string& input, const std::string& output);

/// The target of a Reshape between these shapes, right for all values of the unknowns; nothing if there is none.
std::optional<std::vector<std::int64_t>> reshape_target(const Shape& from, const Shape& to);

void identity(const Context& context);
void no_op(const Context& context);
void shape_arithmetic(const Context& context);
void reshape_targets(const Context& context);
void constant_folding(const Context& context);
void cluster_folding(const Context& context);
void dead_branches(const Context& context);
void common_subexpressions(const Context& context);
void neutral_operand(const Context& context);
void initial_state(const Context& context);
void sequences(const Context& context);
void round_trips(const Context& context);
void batch_norm(const Context& context);
void equal_weights(const Context& context);
void dead_code(const Context& context);
void unused_weights(const Context& context);

}  // namespace taso::onnx::cleanup
