// The passes behind clean_up(). Each looks at the model as it is at the start of the pass and says where it acted.
#pragma once

#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"

namespace taso::onnx::cleanup {

struct Context {
  GraphEdit& edit;
  const Imported& imported;  ///< of the model before the pass
  const CleanupOptions& options;
  std::vector<std::string>& done;  ///< where each pass says at which node or weight it acted
};

/// What a node is known by.
std::string name_of(const proto::NodeProto& node);

/// Makes everybody who uses `output` use `input` and removes the node between them; false if the model's interface or a
/// subgraph stands in the way.
bool bypass(GraphEdit& edit, const proto::NodeProto& node, const std::string& input, const std::string& output);

void identity(const Context& context);
void no_op(const Context& context);
void shape_arithmetic(const Context& context);
void constant_folding(const Context& context);
void common_subexpressions(const Context& context);
void batch_norm(const Context& context);
void dead_code(const Context& context);
void unused_weights(const Context& context);

}  // namespace taso::onnx::cleanup
