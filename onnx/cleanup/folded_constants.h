// Values that depend on constants only, computed once: by those who ask whether they can be used, and by the export.
#pragma once

#include <unordered_map>
#include <vector>

#include "ops/core/array.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

class FoldedConstants {
 public:
  /// Whether an operator's results can be computed ahead: they depend on constants alone, and these have data.
  bool is_constant(const Node& node);
  /// The results of an operator for which that holds; null if computing them takes too much memory.
  const std::vector<Array>* of(const Node& node);
  /// False if numbers come out as infinite or as none at all although all constants that go in are finite: the sum or
  /// product does not fit the type.
  bool is_usable(const Value& value);

 private:
  std::unordered_map<const Node*, bool> constant_;
  std::unordered_map<const Node*, std::vector<Array>> computed_;  // without results where it cannot be done
};

}  // namespace taso::onnx
