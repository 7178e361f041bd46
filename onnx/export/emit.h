// Writes our operators as ONNX nodes, at the opset of the model.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "onnx/model/messages.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

/// Receives emitted nodes and provides names.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  virtual std::int64_t opset() const = 0;
  virtual std::string fresh_name(const std::string& base) = 0;
  virtual void add_node(std::unique_ptr<proto::NodeProto> node) = 0;
  /// Adds a constant and returns its name.
  virtual std::string add_constant(const Array& data) = 0;

  /// Sets the base for the names of later constants.
  void name_constants(std::string base) { constant_base_ = std::move(base); }

 protected:
  const std::string& constant_base() const { return constant_base_; }

 private:
  std::string constant_base_ = "constant";
};

/// Writes the nodes for `op`; the results get the names `outputs`. A concat may have more than two operands and a split
/// more than two results: several of ours are one of ONNX's. Throws InputError if the opset cannot express it.
void emit(const Operator& op, std::span<const Type> input_types, std::span<const std::string> inputs,
          std::span<const Type> output_types, std::span<const std::string> outputs, NodeSink& sink);

}  // namespace taso::onnx
