// What can be known of an ONNX node's results before it runs: types, shapes with unknowns, and the contents of the small
// integer tensors from which models compute shapes.
#pragma once

#include "runtime/host/host.h"

namespace taso::runtime {

/// What is known of a value. Everything may be missing.
struct Fact {
  Type type;
  /// The elements, for an integer tensor of rank 0 or 1 whose elements are known as dimensions ("Shape(x)" is one).
  std::optional<std::vector<Dim>> content;
  /// The whole tensor, if it is a constant that is at hand.
  std::optional<Array> constant;
  /// Where not all of the elements are known: those that are. Of a tensor of rank 1 without `content`.
  std::optional<std::vector<std::optional<Dim>>> known_part = std::nullopt;
};

struct InferenceCall {
  std::string_view domain, op_type;
  std::int64_t opset = 0;
  const Attributes& attributes;
  std::vector<const Fact*> inputs;  ///< null for an operand that is left out
  std::size_t outputs = 1;
  /// Names an extent that depends on more than the shapes: the dimension of that output along that axis. It stands for any
  /// number from 1 on, like every unknown. Where this is not given, such a result has no known shape at all.
  std::function<Dim(std::size_t output, std::size_t axis)> unknown = {};
};

/// One fact per output, as much as can be told for every value of the unknowns; never throws, never guesses.
std::vector<Fact> infer_facts(const InferenceCall& call);

}  // namespace taso::runtime
