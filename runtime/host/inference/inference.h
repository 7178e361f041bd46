// Infers what can be known about the results of an ONNX node before it runs: types, shapes with unknowns, and the
// contents of the small integer tensors from which models compute shapes.
#pragma once

#include "runtime/host/host.h"

namespace taso::runtime {

/// What is known about a value. Everything may be missing.
struct Fact {
  Type type;
  /// The elements of an integer tensor of rank 0 or 1, if they are known as dimensions, as for "Shape(x)".
  std::optional<std::vector<Dim>> content;
  /// The whole tensor, if it is a constant and available.
  std::optional<Array> constant;
  /// The known elements of a tensor of rank 1 without `content`.
  std::optional<std::vector<std::optional<Dim>>> known_part = std::nullopt;
};

struct InferenceCall {
  std::string_view domain, op_type;
  std::int64_t opset = 0;
  const Attributes& attributes;
  std::vector<const Fact*> inputs;  ///< null for an omitted operand
  std::size_t outputs = 1;
  /// Gives a name to an extent that depends on more than shapes: the dimension of an output along an axis. Like every
  /// unknown, it stands for any number from 1 on. If this is not set, such a result has no known shape at all.
  std::function<Dim(std::size_t output, std::size_t axis)> unknown = {};
};

/// Infers one fact per output: whatever holds for all values of the unknowns. Never throws, never guesses.
std::vector<Fact> infer_facts(const InferenceCall& call);

}  // namespace taso::runtime
