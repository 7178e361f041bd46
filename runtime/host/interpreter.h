// Runs programs on the CPU. It is the reference that everything else is compared with.
#pragma once

#include "ops/graph/graph.h"

namespace taso::runtime {

/// A result does not have the type that its node declares: the declaration, which may have been used to rewrite the
/// model, is wrong.
struct TypeMismatch : InputError {
  using InputError::InputError;
};

struct InterpreterOptions {
  unsigned threads = 0;  ///< 0: as many as the machine has
  bool plain = false;    ///< only the operators' own definitions, without fast kernels
};

/// One operator on concrete operands.
std::vector<Array> evaluate(const Operator& op, std::span<const Array> inputs, const InterpreterOptions& options = {});

/// Computes the outputs of a graph; `inputs` are in the order of graph.inputs. Throws InputError if an opaque node
/// cannot run or an operand does not fit.
std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs, const InterpreterOptions& options = {});

}  // namespace taso::runtime
