// Writes a graph of our operators back to ONNX. Parts that the model already has are reused, the rest is written.
#pragma once

#include "onnx/cleanup/folded_constants.h"
#include "onnx/export/edit.h"
#include "onnx/import/import.h"

namespace taso::onnx {

/// Changes the model so that it computes `graph`, which must have the inputs and the number of outputs of
/// `imported.graph` and live in its pool. Nodes of the model whose values the graph still needs stay untouched,
/// including their names. Nodes that only the old graph needed are removed. New nodes get names derived from the
/// outputs or values that they lead to. Throws InputError if the model's opset cannot express something; discard the
/// edit then.
void export_graph(const ImportedModel& imported, const Graph& graph, GraphEdit& edit);

/// Values of a model that are to be computed in another way.
struct ValueEdits {
  /// A value and its replacement: a value of the same pool, over values that have names in the model.
  std::vector<std::pair<Value, Value>> rewritten;
  /// A value and an equal value of the model: users of the first use the second.
  std::vector<std::pair<Value, Value>> merged;
};

/// Changes the model so that these values are computed in the new way under their present names. Nothing else changes,
/// except that nodes that nothing needs any more are removed. Values that depend only on constants with data are
/// computed here. Throws InputError if the model's opset cannot express something; discard the edit then.
void export_values(const ImportedModel& imported, const ValueEdits& edits, GraphEdit& edit);
/// The same, with constants that may have been computed before.
void export_values(const ImportedModel& imported, const ValueEdits& edits, GraphEdit& edit, FoldedConstants& folded);

struct WriteOptions {
  std::int64_t opset = 17;
  std::int64_t ir_version = 8;
};
/// A model made from a graph alone. Constants need data, and opaque nodes cannot be written. Values get the names of
/// the text form. Throws InputError.
Model write_model(const Graph& graph, const WriteOptions& options = {});

}  // namespace taso::onnx
