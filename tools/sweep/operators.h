// The operators of the sweep: convolutions, pairs of them, pools and products as well-known networks have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/graph.h"

namespace taso::sweep {

struct SweepOperator {
  /// A pair is two convolutions with relu between them, of the same windows and as many outputs.
  enum class Kind { convolution, transposed, pair, max_pool, average_pool, matmul };
  Kind kind = Kind::convolution;
  Extents x;  ///< the input with batch and channels, or the first factor
  Extents y;  ///< the second factor
  std::int64_t outputs = 0;
  Extents kernel, strides, dilations;
  Extents pads;  ///< begins, then ends
  std::int64_t groups = 1;
  std::string_view network;  ///< one that has it

  /// "conv2d 1x64x56x56 64 3x3 d2"
  std::string name() const;
  bool has_images() const { return kind != Kind::matmul; }
  bool has_filters() const { return kind == Kind::convolution || kind == Kind::transposed || kind == Kind::pair; }
  /// The operator alone. Weights are constants whose data is drawn when it is asked for.
  Graph graph() const;
  /// The same in float64 and with weights as inputs, for comparisons.
  Graph open_graph() const;
  /// A smaller operator of the same kind. Rules apply to both: it has the same kernel, strides, dilations and pads, and
  /// its sizes leave the same remainders.
  SweepOperator small() const;
};

/// At least 330, all different.
std::vector<SweepOperator> sweep_operators();

}  // namespace taso::sweep
