// YOLOv8n, a detector: Jocher and others, Ultralytics YOLOv8, 2023, as Ultralytics' model is exported. The output has a
// box and the scores of 80 kinds for each place of three maps; suppression of overlapping boxes is not part of it.
// The exporter folds batch norms into the convolutions before them.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t kinds = 80, distances = 16;
constexpr std::array<std::int64_t, 3> strides{8, 16, 32};

Value unit(Builder& net, const Value& x, std::string_view name, std::int64_t channels, std::int64_t kernel = 1,
           std::int64_t stride = 1) {
  const auto scope = net.scope(name);
  return silu(net, net.conv(x, "conv", channels, {.kernel = kernel, .stride = stride, .pad = kernel / 2},
                            {.folded_norm = true}));
}

/// Half of the channels passes bottlenecks, and what enters and leaves each of them is joined.
Value c2f(Builder& net, const Value& x, std::string_view name, std::int64_t channels, std::int64_t bottlenecks,
          bool with_shortcuts) {
  const auto scope = net.scope(name);
  const Value whole = unit(net, x, "cv1", channels);
  std::vector<std::int64_t> half = whole.shape;
  half[1] = channels / 2;
  std::vector<Value> parts = net.apply_for_several("Split", {whole, net.integers({half[1], half[1]}, {2})},
                                                   {half, half}, whole.power, {{"axis", std::int64_t{1}}});
  for (std::int64_t i = 0; i < bottlenecks; ++i) {
    const auto inner = net.scope(fmt::format("m.{}", i));
    const Value y = unit(net, unit(net, parts.back(), "cv1", half[1], 3), "cv2", half[1], 3);
    parts.push_back(with_shortcuts ? net.add(parts.back(), y) : y);
  }
  return unit(net, net.concat(parts), "cv2", channels);
}

/// Maxima of windows of three sizes, each made of the one before.
Value pyramid_pooling(Builder& net, const Value& x, std::string_view name) {
  const auto scope = net.scope(name);
  std::vector<Value> maps{unit(net, x, "cv1", x.channels() / 2)};
  for (int i = 0; i < 3; ++i) {
    maps.push_back(net.max_pool(maps.back(), {.kernel = 5, .pad = 2}));
    maps.back().power = {0, std::min(maps.back().power.total(), 4.0)};
  }
  return unit(net, net.concat(maps), "cv2", x.channels());
}

/// The same three layers for each map, side by side: [batch, channels, places of all maps].
Value branch(Builder& net, const std::vector<Value>& maps, std::string_view name, std::int64_t inner,
             std::int64_t channels) {
  std::vector<Value> results;
  for (std::size_t level = 0; level < maps.size(); ++level) {
    const auto scope = net.scope(fmt::format("{}.{}", name, level));
    const Value y = unit(net, unit(net, maps[level], "0", inner, 3), "1", inner, 3);
    const Value result = net.conv(y, "2", channels, {}, {.bias = true});
    results.push_back(net.reshape_wholly(result, {channels, result.shape[2] * result.shape[3]}));
  }
  return net.concat(results, 2);
}

/// The middles of all places, in cells: [1, 2, places].
Value anchors(Builder& net, const std::vector<Value>& maps) {
  std::vector<Value> parts;
  std::int64_t all = 0;
  for (const Value& map : maps) {
    const std::int64_t height = map.shape[2], width = map.shape[3];
    std::vector<double> middles;
    for (std::int64_t row = 0; row < height; ++row)
      for (std::int64_t column = 0; column < width; ++column)
        middles.insert(middles.end(), {static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5});
    all += height * width;
    // The exporter leaves constants that are large as they were computed.
    const Value grid = net.reals(middles, {height, width, 2});
    parts.push_back(net.apply("Reshape", {grid, net.integers({-1, 2}, {2})}, {height * width, 2}, {0, 1},
                              {{"allowzero", std::int64_t{1}}}));
  }
  const Value joined = net.apply("Concat", parts, {all, 2}, {0, 1}, {{"axis", std::int64_t{0}}});
  return net.unsqueeze(net.transpose(joined, {1, 0}), 0);
}

/// The expected distance from a middle to the four sides of its box, of distances with probabilities.
Value expected_distances(Builder& net, const Value& x) {
  const std::int64_t places = x.shape[2];
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < distances; ++i) numbers.push_back(static_cast<double>(i));
  const Value sides = net.transpose(net.reshape_wholly(x, {4, distances, places}), {0, 2, 1, 3});
  const Value shares = net.apply("Softmax", {sides}, sides.shape, {0, 1}, {{"axis", std::int64_t{1}}});
  const Value weight = net.fixed_parameter("dfl.conv.weight", numbers, {1, distances, 1, 1});
  const Value sum = net.apply("Conv", {shares, weight}, {x.shape[0], 1, 4, places}, {0, 1},
                              {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
  return net.reshape_wholly(sum, {4, places});
}

/// Middle, width and height of each place's box, in pixels.
Value boxes(Builder& net, const Value& x, const std::vector<Value>& maps) {
  const Value sides = expected_distances(net, x), middles = anchors(net, maps);
  std::vector<std::int64_t> half = sides.shape;
  half[1] = 2;
  const std::vector<Value> parts = net.apply_for_several("Split", {sides}, {half, half}, sides.power,
                                                         {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}});
  const Value low = net.apply("Sub", {middles, parts[0]}, half, {0, 1});
  const Value high = net.apply("Add", {middles, parts[1]}, half, {0, 1});
  const Value middle = net.arithmetic("Div", net.apply("Add", {low, high}, half, {0, 1}), 2);
  const Value extent = net.apply("Sub", {high, low}, half, {0, 1});
  std::vector<double> scales;
  for (std::size_t level = 0; level < maps.size(); ++level)
    scales.insert(scales.end(), static_cast<std::size_t>(maps[level].shape[2] * maps[level].shape[3]),
                  static_cast<double>(strides[level]));
  const Value boxes = net.concat({middle, extent});
  return net.multiply(boxes, net.reals(scales, {1, sides.shape[2]}));
}

}  // namespace

void build_yolov8n(Builder& net, const Variant& variant) {
  const auto blocks = blocks_by_stage(variant, {1, 2, 2, 1, 1, 1, 1, 1});
  Value x = net.input("images", {3, variant.image_size, variant.image_size});
  const auto name = [](int index) { return fmt::format("model.{}", index); };
  x = unit(net, unit(net, x, name(0), 16, 3, 2), name(1), 32, 3, 2);
  x = c2f(net, x, name(2), 32, blocks[0], true);
  const Value eighth = c2f(net, unit(net, x, name(3), 64, 3, 2), name(4), 64, blocks[1], true);
  const Value sixteenth = c2f(net, unit(net, eighth, name(5), 128, 3, 2), name(6), 128, blocks[2], true);
  x = c2f(net, unit(net, sixteenth, name(7), 256, 3, 2), name(8), 256, blocks[3], true);
  const Value deep = pyramid_pooling(net, x, name(9));
  const Value middle = c2f(net, net.concat({net.upsampled(deep), sixteenth}), name(12), 128, blocks[4], false);
  const Value large = c2f(net, net.concat({net.upsampled(middle), eighth}), name(15), 64, blocks[5], false);
  const Value medium =
      c2f(net, net.concat({unit(net, large, name(16), 64, 3, 2), middle}), name(18), 128, blocks[6], false);
  const Value little =
      c2f(net, net.concat({unit(net, medium, name(19), 128, 3, 2), deep}), name(21), 256, blocks[7], false);
  const std::vector<Value> maps{large, medium, little};
  const auto scope = net.scope(name(22));
  const Value sides = branch(net, maps, "cv2", 64, 4 * distances);
  const Value scores = branch(net, maps, "cv3", kinds, kinds);
  const Value found = boxes(net, sides, maps);
  net.output(net.concat({found, net.sigmoid(scores)}), "output0");
}

}  // namespace taso::examples
