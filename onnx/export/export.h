// From a graph of our operators back to ONNX: what the model has already is used as it stands, the rest is written anew.
#pragma once

#include "onnx/cleanup/folded_constants.h"
#include "onnx/export/edit.h"
#include "onnx/import/import.h"

namespace taso::onnx {

/// Changes the model so that it computes `graph`, which has the inputs and the number of outputs of `imported.graph` and
/// lives in its pool. Nodes of the model whose values the graph still needs stay untouched, names and all; those that only
/// the old graph needed go; new nodes get names made from the outputs or values that they lead to. Throws InputError when
/// something cannot be said at the model's opset; the edit is then to be thrown away.
void export_graph(const Imported& imported, const Graph& graph, GraphEdit& edit);

/// Values of a model that are to be computed in another way.
struct ValueEdits {
  /// A value, and what computes it: a value of the same pool, over values that have names in the model.
  std::vector<std::pair<Value, Value>> rewritten;
  /// A value, and another one of the model that it is equal to: whoever uses the first uses the second.
  std::vector<std::pair<Value, Value>> merged;
};

/// Changes the model so that these values are computed in the new way under the names that they have; nothing else is
/// touched, but nodes that nobody needs any more go. What depends on constants only is computed here, where they have data.
/// Throws InputError when something cannot be said at the model's opset; the edit is then to be thrown away.
void export_values(const Imported& imported, const ValueEdits& edits, GraphEdit& edit);
/// The same with constants of which some may have been computed before.
void export_values(const Imported& imported, const ValueEdits& edits, GraphEdit& edit, FoldedConstants& folded);

struct WriteOptions {
  std::int64_t opset = 17;
  std::int64_t ir_version = 8;
};
/// A model made of a graph alone. Constants need data, and opaque nodes cannot be written. Values get the names of the text
/// form. Throws InputError.
Model write_model(const Graph& graph, const WriteOptions& options = {});

}  // namespace taso::onnx
