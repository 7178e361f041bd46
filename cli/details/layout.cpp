#include "cli/details/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace taso::cli {
namespace {

constexpr double gap_between = 22, gap_below = 34;

/// A box, or a bend of an edge that passes a layer.
struct Point {
  std::optional<std::size_t> box;
  std::size_t layer = 0;
  double width = 8, x = 0, place = 0, key = 0;
  std::vector<std::size_t> up, down;
};
using Layers = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> layers_of(std::size_t count, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  std::vector<std::size_t> layer(count);
  std::vector<std::vector<std::size_t>> up(count), down(count);
  for (const auto& [from, to] : edges) {
    down[from].push_back(to);
    up[to].push_back(from);
  }
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t next : down[i]) layer[next] = std::max(layer[next], layer[i] + 1);
  // What nothing precedes stands right above its first user.
  for (std::size_t i = 0; i < count; ++i) {
    if (!up[i].empty() || down[i].empty()) continue;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const std::size_t next : down[i]) least = std::min(least, layer[next]);
    layer[i] = least - 1;
  }
  return layer;
}

/// Sorts each layer by the mean position of the neighbours in the layer before, a few times down and up.
void order(std::vector<Point>& points, Layers& layers) {
  const auto place = [&](const std::vector<std::size_t>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) points[list[i]].place = static_cast<double>(i);
  };
  for (const auto& list : layers) place(list);
  for (std::size_t sweep = 0; sweep < 6; ++sweep)
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto& list = layers[sweep % 2 == 0 ? i : layers.size() - 1 - i];
      for (const std::size_t one : list) {
        const auto& near = sweep % 2 == 0 ? points[one].up : points[one].down;
        double sum = 0;
        for (const std::size_t other : near) sum += points[other].place;
        points[one].key = near.empty() ? points[one].place : sum / static_cast<double>(near.size());
      }
      std::stable_sort(list.begin(), list.end(),
                       [&](std::size_t a, std::size_t b) { return points[a].key < points[b].key; });
      place(list);
    }
}

/// Neighbouring points that want the same room share the difference.
struct Block {
  std::vector<std::size_t> members;
  double width = 0, centre = 0, weight = 1;
};

void place_layer(std::vector<Point>& points, const std::vector<std::size_t>& list, bool is_down) {
  std::vector<Block> blocks;
  for (const std::size_t one : list) {
    std::vector<std::size_t> near = is_down ? points[one].up : points[one].down;
    if (near.empty()) near = is_down ? points[one].down : points[one].up;
    double wish = 0;
    for (const std::size_t other : near) wish += points[other].x;
    wish = near.empty() ? points[one].x : wish / static_cast<double>(near.size());
    Block block{{one}, points[one].width, wish, points[one].box ? 1.0 : 3.0};
    while (!blocks.empty()) {
      Block before = blocks.back();
      if (before.centre + before.width / 2 + gap_between <= block.centre - block.width / 2) break;
      blocks.pop_back();
      // Where both would stand if they could, as the left edge of the two together.
      const double left_wish = before.centre - before.width / 2;
      const double right_wish = block.centre - block.width / 2 - before.width - gap_between;
      const double weight = before.weight + block.weight, width = before.width + gap_between + block.width;
      const double left = (left_wish * before.weight + right_wish * block.weight) / weight;
      before.members.insert(before.members.end(), block.members.begin(), block.members.end());
      block = {std::move(before.members), width, left + width / 2, weight};
    }
    blocks.push_back(std::move(block));
  }
  for (const Block& block : blocks) {
    double x = block.centre - block.width / 2;
    for (const std::size_t one : block.members) {
      points[one].x = x + points[one].width / 2;
      x += points[one].width + gap_between;
    }
  }
}

void place_all(std::vector<Point>& points, const Layers& layers) {
  for (const auto& list : layers) {
    double x = 0;
    for (const std::size_t one : list) {
      points[one].x = x + points[one].width / 2;
      x += points[one].width + gap_between;
    }
    for (const std::size_t one : list) points[one].x -= x / 2;
  }
  for (std::size_t sweep = 0; sweep < 8; ++sweep)
    for (std::size_t i = 0; i < layers.size(); ++i)
      place_layer(points, layers[sweep % 2 == 0 ? i : layers.size() - 1 - i], sweep % 2 == 0);
}

}  // namespace

Layout lay_out(std::vector<LayoutBox> boxes, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  const std::vector<std::size_t> layer = layers_of(boxes.size(), edges);
  std::vector<Point> points;
  for (std::size_t i = 0; i < boxes.size(); ++i) points.push_back({i, layer[i], boxes[i].width, 0, 0, 0, {}, {}});
  std::vector<std::vector<std::size_t>> bends(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const auto& [from, to] = edges[i];
    std::size_t last = from;
    const auto join = [&](std::size_t next) {
      points[last].down.push_back(next);
      points[next].up.push_back(last);
      last = next;
    };
    for (std::size_t at = layer[from] + 1; at < layer[to]; ++at) {
      points.push_back({std::nullopt, at, 8, 0, 0, 0, {}, {}});
      bends[i].push_back(points.size() - 1);
      join(points.size() - 1);
    }
    join(to);
  }
  Layers layers;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (layers.size() <= points[i].layer) layers.resize(points[i].layer + 1);
    layers[points[i].layer].push_back(i);
  }
  order(points, layers);
  place_all(points, layers);

  Layout layout;
  double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest(), y = 0;
  std::vector<double> tops, heights;
  for (const auto& list : layers) {
    double height = 0;
    for (const std::size_t one : list) {
      left = std::min(left, points[one].x - points[one].width / 2);
      right = std::max(right, points[one].x + points[one].width / 2);
      if (points[one].box) height = std::max(height, boxes[*points[one].box].height);
    }
    tops.push_back(y);
    heights.push_back(height);
    y += height + gap_below;
  }
  if (boxes.empty()) return layout;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    boxes[i].x = points[i].x - left;
    boxes[i].y = tops[points[i].layer];
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const LayoutBox &from = boxes[edges[i].first], &to = boxes[edges[i].second];
    auto& path = layout.edges.emplace_back();
    path.emplace_back(from.x, from.y + from.height);
    for (const std::size_t bend : bends[i]) {
      const Point& point = points[bend];
      path.emplace_back(point.x - left, tops[point.layer]);
      path.emplace_back(point.x - left, tops[point.layer] + heights[point.layer]);
    }
    path.emplace_back(to.x, to.y);
  }
  layout.boxes = std::move(boxes);
  layout.width = right - left;
  layout.height = y - gap_below;
  return layout;
}

}  // namespace taso::cli
