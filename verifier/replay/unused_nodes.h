// Nodes that no output needs: a graph of values does not show them, and a model is loaded with them all the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "onnx/import/view.h"

namespace taso::verifier {

/// How the nodes that no output needs have come through a rewriting.
struct UnusedNodes {
  std::string trouble;  ///< what is wrong; empty if nothing is
  /// Values that they take from the rest: the name in `cleaned`, and the one in `after`, which has to be the same
  /// value.
  std::vector<std::pair<std::string, std::string>> taken;
};

/// Every such node of `after` is one of `cleaned`, told by the names of its results, and the same but for the values
/// that it takes. Those of `cleaned` are all still there, but for what a clean-up may remove.
UnusedNodes compare_unused_nodes(const onnx::ModelView& cleaned, const onnx::ModelView& after);

}  // namespace taso::verifier
