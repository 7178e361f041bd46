// From an ONNX model to a graph of our operators, with what is needed to find the way back.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "onnx/import/view.h"
#include "ops/graph/graph.h"
#include "runtime/host/inference/inference.h"

namespace taso::onnx {

/// What two models that are to be compared have in common: imported with one of these, equal parts become equal values.
struct SharedImport {
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  /// Whether the declared types of values inside the model count where nothing else tells.
  bool believe_declarations = true;
  /// Values of the model that is imported next which become inputs of the graph, whatever computes them, and what the
  /// inputs are called: those of one name are one.
  std::unordered_map<std::string, std::string> cut;
  std::unordered_map<std::string, Value> cut_inputs;
  /// Deterministic nodes and constants that we do not model, by what they do and take; only here are such nodes ever merged.
  std::unordered_map<std::string, std::vector<Value>> opaque;
  /// What a value is taken for, wherever it is computed: itself, or the input that stands for it.
  std::unordered_map<Value, Value, HashValue> stand_in;
};

struct Imported {
  Graph graph;
  /// Every name of the model's main graph. Several names may have one value: equal nodes are one.
  std::unordered_map<std::string, Value> values;
  std::unordered_map<std::string, runtime::Fact> facts;
  /// The graph inputs that have a default (an initializer that may be overridden).
  std::unordered_map<std::string, const proto::TensorProto*> defaults;
};

/// Every valid model can be imported: what our operators do not cover is opaque. Throws InputError where operands have
/// types that their operator cannot take together. The graph refers to the nodes and tensors of the view, which must outlive it.
Imported import_model(const ModelView& view, SharedImport* shared = nullptr);

}  // namespace taso::onnx
