// Clean-ups that need no search. Each is a named pass that computes the same over the real numbers and can be disabled.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/export/edit.h"

namespace taso::onnx {

struct CleanupOptions {
  std::set<std::string, std::less<>> disabled;  ///< names of passes
  /// A constant is folded if the result is at most this large, or frees at least as many bytes as it takes.
  std::size_t fold_limit = 1024;
  /// The largest number of bytes of weights that are read at a time to compute new ones.
  std::size_t memory_limit = std::size_t{64} << 20;
};

struct CleanupPass {
  std::string_view name;
  std::string_view description;
};
std::vector<CleanupPass> cleanup_passes();

struct CleanupCount {
  std::string_view pass;
  std::size_t count = 0;  ///< nodes or weights removed, merged or computed
};

/// One action of a pass.
struct CleanupAction {
  std::string_view pass;
  std::string at;  ///< the first result of the node that was removed, merged or computed; or the name of the weight
};

/// Runs the passes until nothing changes. Returns the number of actions of each pass, including passes that did
/// nothing. Appends the actions to `actions`, if given.
std::vector<CleanupCount> clean_up(GraphEdit& edit, const CleanupOptions& options = {},
                                   std::vector<CleanupAction>* actions = nullptr);

}  // namespace taso::onnx
