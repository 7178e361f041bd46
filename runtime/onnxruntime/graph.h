// A graph of ONNX Runtime, read into plain values: what the provider decides on and writes as a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/onnxruntime/status.h"

namespace taso::onnxruntime {

struct Dimension {
  std::int64_t size = -1;  ///< -1: unknown
  std::string name;        ///< "batch"; may be empty
};

struct Value {
  std::string name;
  std::int32_t element = 0;  ///< TensorProto.DataType; 0 if it is no tensor, or unknown
  std::optional<std::vector<Dimension>> shape;
  bool is_constant = false;
  const OrtValueInfo* info = nullptr;
};

struct Node {
  const OrtNode* node = nullptr;
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;  ///< names; empty where one is omitted
  std::vector<std::string> captured;         ///< what its subgraphs read
  std::string attributes;                    ///< fields of NodeProto
  std::string obstacle;                      ///< why it cannot be written as a node of a model
};

struct Graph {
  std::vector<Node> nodes;  ///< in topological order
  std::unordered_map<std::string, Value> values;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> constants;                        ///< initializers
  std::vector<std::pair<std::string, std::int64_t>> opsets;  ///< domain and version
  std::int64_t ir_version = 0;
  std::filesystem::path folder;  ///< of the model's file; empty if it has none
};

/// The names, types and constants refer to `graph`, which must outlive the result.
Graph read_graph(const OrtApi& api, const OrtGraph& graph);

/// The content of an attribute, in ONNX Runtime's own layout.
std::string content_of(const OrtApi& api, const OrtOpAttr* attribute, OrtOpAttrType type);

/// Whether it belongs to a node of another graph. ONNX Runtime 1.23 does not tell (`knows_parents` is false); there the
/// name of the graph must be that of the model's.
bool is_subgraph(const OrtApi& api, const OrtGraph& graph, bool knows_parents);

std::vector<std::string> input_names(const OrtApi& api, const OrtNode& node);
std::vector<std::string> output_names(const OrtApi& api, const OrtNode& node);

/// Whether libtaso has tensors of this type (TensorProto.DataType).
bool is_element(std::int32_t type);

/// A dense tensor; the bytes belong to ONNX Runtime.
struct TensorView {
  std::int32_t element = 0;
  std::vector<std::int64_t> sizes;
  std::string_view bytes;
  bool is_on_device = false;
  int device = 0;  ///< the number of the GPU
};
TensorView view_of(const OrtApi& api, const OrtValue& value);

}  // namespace taso::onnxruntime
