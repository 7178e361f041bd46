// Our operators in terms of ONNX: the nodes to write for one of them, at the opset that the model has.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "onnx/model/messages.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

/// Where emitted nodes go, and how they get names.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  virtual std::int64_t opset() const = 0;
  virtual std::string fresh_name(const std::string& base) = 0;
  virtual void add_node(std::unique_ptr<proto::NodeProto> node) = 0;
  /// The name of a constant with that data.
  virtual std::string add_constant(const Array& data) = 0;

  /// What constants are named after, from now on.
  void name_constants(std::string base) { constant_base_ = std::move(base); }

 protected:
  const std::string& constant_base() const { return constant_base_; }

 private:
  std::string constant_base_ = "constant";
};

/// Writes the nodes for `op`; the results get the names `outputs`. A concat may have more operands than two, and a split more
/// results: several of ours are one of ONNX's. Throws InputError if the opset has no way to say it.
void emit(const Operator& op, std::span<const Type> input_types, std::span<const std::string> inputs,
          std::span<const Type> output_types, std::span<const std::string> outputs, NodeSink& sink);

}  // namespace taso::onnx
