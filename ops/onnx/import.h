// From an ONNX model to a graph of our operators, with what is needed to find the way back.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ops/graph.h"
#include "ops/host/inference.h"
#include "ops/onnx/view.h"

namespace taso {

struct ImportOptions {
  /// Where the nodes go; a pool of its own if null. Two models imported into one pool share what they have in common.
  std::shared_ptr<Pool> pool;
  /// Values that become inputs of the graph, whatever computes them in the model.
  const std::unordered_set<std::string>* cut = nullptr;
};

struct Imported {
  Graph graph;
  /// Every name of the model's main graph. Several names may have one value: equal nodes are one.
  std::unordered_map<std::string, Value> values;
  std::unordered_map<std::string, Fact> facts;
  /// The graph inputs that have a default (an initializer that may be overridden).
  std::unordered_map<std::string, const onnx::TensorProto*> defaults;
};

/// Every model can be imported: what our operators do not cover is opaque.
Imported import_model(const ModelView& view, const ImportOptions& options = {});

}  // namespace taso
