// Clean-ups that need no search, each a named pass that is always right and can be switched off.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/export/edit.h"

namespace taso::onnx {

struct CleanupOptions {
  std::set<std::string, std::less<>> disabled;  ///< names of passes
  /// A constant may be computed ahead if the result is at most this large, or frees as many bytes as it takes.
  std::size_t fold_limit = 1024;
  /// Weights that are read to compute new ones: at most this many bytes at a time.
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

/// One thing that a pass did.
struct CleanupAction {
  std::string_view pass;
  std::string at;  ///< the first result of the node that was removed, merged or computed; or the name of the weight
};

/// Runs the passes until nothing changes; says how often each did something, passes that did nothing included. Appends what
/// they did to `actions`, if it is given.
std::vector<CleanupCount> clean_up(GraphEdit& edit, const CleanupOptions& options = {},
                                   std::vector<CleanupAction>* actions = nullptr);

}  // namespace taso::onnx
