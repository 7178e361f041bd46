// Lays out a small graph in layers, from top to bottom, for pictures that are made without a browser. The same steps as
// in details/page/graph.js, which lays out whole models in the page.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace taso::cli {

struct LayoutBox {
  double width = 0, height = 0;  ///< given
  double x = 0, y = 0;           ///< found: the middle of its upper edge
};

struct Layout {
  std::vector<LayoutBox> boxes;
  /// For each edge, the points that it passes, from the lower edge of one box to the upper edge of the other.
  std::vector<std::vector<std::pair<double, double>>> edges;
  double width = 0, height = 0;
};

/// Boxes are in topological order; edges lead from earlier boxes to later ones. All coordinates are 0 or more.
Layout lay_out(std::vector<LayoutBox> boxes, const std::vector<std::pair<std::size_t, std::size_t>>& edges);

}  // namespace taso::cli
