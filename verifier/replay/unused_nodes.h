// Checks nodes that no output needs: a graph of values does not show them, but a model is loaded with all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "onnx/import/view.h"

namespace taso::verifier {

/// The nodes that no output needs, compared before and after a rewrite.
struct UnusedNodes {
  std::string trouble;  ///< what is wrong; empty if nothing is
  /// Values that they take from other nodes: the name in `cleaned` and the name in `after`, which must be the same
  /// value.
  std::vector<std::pair<std::string, std::string>> taken;
};

/// Every such node of `after` must be one of `cleaned`, identified by the names of its results, and the same except for
/// the values that it takes. All those of `cleaned` must still exist, except those that a clean-up may remove.
UnusedNodes compare_unused_nodes(const onnx::ModelView& cleaned, const onnx::ModelView& after);

}  // namespace taso::verifier
