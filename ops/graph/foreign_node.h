// An operator that no rule knows, as another runtime runs it: by itself, in a model of its own.
#pragma once

#include <string>

#include "ops/graph/graph.h"

namespace taso::ops {

/// A body of an opaque node that also knows how to be written as a model.
class ForeignNode {
 public:
  virtual ~ForeignNode() = default;
  /// One line with all that its time depends on beside the types of its operands: operator, opset, attributes, and the
  /// contents of small integer operands. Empty if it cannot run by itself.
  virtual const std::string& foreign_text() const = 0;
};

/// Null if the node cannot run by itself.
inline const ForeignNode* foreign_node(const Opaque* opaque) {
  const auto* const node = opaque != nullptr ? dynamic_cast<const ForeignNode*>(opaque->body.get()) : nullptr;
  return node != nullptr && !node->foreign_text().empty() ? node : nullptr;
}

}  // namespace taso::ops
