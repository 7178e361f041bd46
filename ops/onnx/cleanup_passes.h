// The passes behind clean_up(). Each looks at the model as it is at the start of the pass and returns how often it acted.
#pragma once

#include "ops/onnx/cleanup.h"
#include "ops/onnx/import.h"

namespace taso::cleanup {

struct Context {
  GraphEdit& edit;
  const Imported& imported;  ///< of the model before the pass
  const CleanupOptions& options;
};

/// Makes everybody who uses `output` use `input` and removes the node between them; false if the model's interface or a
/// subgraph stands in the way.
bool bypass(GraphEdit& edit, const onnx::NodeProto& node, const std::string& input, const std::string& output);

std::size_t identity(const Context& context);
std::size_t no_op(const Context& context);
std::size_t shape_arithmetic(const Context& context);
std::size_t constant_folding(const Context& context);
std::size_t common_subexpressions(const Context& context);
std::size_t batch_norm(const Context& context);
std::size_t dead_code(const Context& context);
std::size_t unused_weights(const Context& context);

}  // namespace taso::cleanup
