// A node as a model of its own, for measuring it in another runtime.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "onnx/import/node_body.h"
#include "onnx/model/model.h"

namespace taso::onnx {

struct NodeModel {
  std::vector<std::optional<Type>> operands;  ///< by place; none if the node omits it
  std::vector<std::optional<Type>> results;   ///< none if nothing uses it
  std::size_t copies = 1;                     ///< of the node, each with operands of its own
  /// The content of an operand of a copy, if it is a constant; otherwise it is an input of the model.
  std::function<std::optional<Array>(std::size_t copy, std::size_t operand)> content;
};

/// The node with its own opset and domain.
Model write_node(const BodyParts& node, const NodeModel& around);

}  // namespace taso::onnx
