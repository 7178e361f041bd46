// Reads an ONNX model into a graph of our operators, and keeps what is needed to find the way back.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "onnx/import/view.h"
#include "ops/graph/graph.h"
#include "runtime/host/inference/inference.h"

namespace taso::onnx {

/// Shared by two models that are to be compared: imported with the same object, equal parts become equal values.
struct SharedImport {
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  /// Whether the declared types of inner values count where inference finds none.
  bool believe_declarations = true;
  /// Values of the next imported model that become inputs of the graph, whatever computes them, with the names of the
  /// inputs. Values with the same input name are one input.
  std::unordered_map<std::string, std::string> cut;
  std::unordered_map<std::string, Value> cut_inputs;
  /// Deterministic nodes and constants that we do not model, by operator and operands. Only here are such nodes merged.
  std::unordered_map<std::string, std::vector<Value>> opaque;
  /// What each value is replaced by wherever it is computed: itself, or the input that stands for it.
  std::unordered_map<Value, Value, HashValue> stand_in;
};

struct ImportedModel {
  Graph graph;
  /// Every name of the model's main graph. Several names may have one value, because equal nodes are merged.
  std::unordered_map<std::string, Value> values;
  /// Of values about which more is known than the type. Those of real constants are only there during the import.
  std::unordered_map<std::string, runtime::Fact> facts;
  /// The graph inputs that have a default: an initializer that can be overridden.
  std::unordered_map<std::string, const proto::TensorProto*> defaults;
};

/// Imports any valid model; parts that our operators do not cover become opaque. Throws InputError if an operator
/// cannot take the types of its operands together. The graph refers to nodes and tensors of the view, which must
/// outlive it.
ImportedModel import_model(const ModelView& view, SharedImport* shared = nullptr);

/// The type that an input of a model declares. Dimensions without a number are unknowns.
Type declared_type(const proto::ValueInfoProto& input);
/// What the model calls a dimension: a name as it stands there, or a formula of names. Empty for a number, and for
/// unknowns without a name.
std::string dimension_text(const Dim& dim);

}  // namespace taso::onnx
