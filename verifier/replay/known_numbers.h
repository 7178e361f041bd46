// The numbers that values of a graph are known to have, computed by the interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/graph.h"

namespace taso::verifier {

template <class Op>
bool is_a(const Value& value) {
  return value.node->as_operator() != nullptr && std::holds_alternative<Op>(*value.node->as_operator());
}

/// The contents of values that depend only on constants and on the sizes of other values.
class Numbers {
 public:
  /// Open sizes are numbered in the order of their use, from `first` on in steps of `step`.
  Numbers(std::int64_t first, std::int64_t step) : first_(first), step_(step) {}

  /// Null if it has none, or they cannot be computed.
  const Array* of(const Value& value);
  /// Applies an operator.
  static std::vector<Array> apply(const Operator& op, const std::vector<Array>& arrays);

 private:
  std::vector<Array> compute(const Node& node);
  std::vector<Array> of_sizes(const Node& node);

  std::int64_t first_, step_;
  std::map<std::string, std::int64_t> sizes_;
  std::unordered_map<const Node*, std::vector<Array>> known_;
};

/// The numbers at two choices of open sizes.
struct KnownNumbers {
  Numbers first{3, 1}, second{11, 2};
  /// Those that are the same at both, bit by bit: they do not depend on open sizes. Null for all others.
  const Array* constant(const Value& value);
};

/// How far a number of this type may be from the exact value.
double rounding(ElementType type, double exact);

}  // namespace taso::verifier
