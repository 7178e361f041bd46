// Runs programs on the CPU: the reference that everything else is compared with.
#pragma once

#include "ops/graph/graph.h"

namespace taso::runtime {

/// A result was not of the type that its node promised: the promise, by which a model may have been changed, was wrong.
struct TypeMismatch : InputError {
  using InputError::InputError;
};

struct InterpreterOptions {
  unsigned threads = 0;  ///< 0: as many as the machine has
  bool plain = false;    ///< only the operators' own meaning, no fast path
};

/// One operator on concrete operands.
std::vector<Array> evaluate(const Operator& op, std::span<const Array> inputs, const InterpreterOptions& options = {});

/// The outputs of a graph; `inputs` in the order of graph.inputs. Throws InputError when an opaque node cannot be run or an
/// operand does not fit.
std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs, const InterpreterOptions& options = {});

}  // namespace taso::runtime
