// Values that depend only on constants. They are computed once, for the test whether they are usable and for the
// export.
#pragma once

#include <unordered_map>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

class FoldedConstants {
 public:
  /// Whether an operator's results can be computed ahead of time: they depend only on constants that have data.
  bool is_constant(const Node& node);
  /// The results of an operator for which that holds; null if they take too much memory.
  const std::vector<Array>* of(const Node& node);
  /// False if the value has infinite or NaN elements although all constants behind it are finite: a sum or product
  /// overflows the type.
  bool is_usable(const Value& value);

 private:
  std::unordered_map<const Node*, bool> constant_;
  std::unordered_map<const Node*, std::vector<Array>> computed_;  // empty if it could not be computed
};

}  // namespace taso::onnx
