// Swin transformer, tiny: Liu and others, Swin Transformer: Hierarchical Vision Transformer using Shifted Windows,
// 2021, as in torchvision. Images are rolled by half a window in every second block, by slices and concatenations; the
// mask for the seams is computed in the graph, from constants.
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "examples/networks/exported/forms.h"
#include "examples/networks/networks.h"

namespace taso::examples {
namespace {

constexpr std::int64_t side = 7, area = side * side, shift = side / 2, head_width = 32;
constexpr std::array<std::int64_t, 4> widths{96, 192, 384, 768};
constexpr double epsilon = 1e-5;

/// The part of an image of windows that is attended to together. All numbers are of one image.
struct Windows {
  std::int64_t rows, columns;  // of windows
  std::int64_t count() const { return rows * columns; }
  bool is_shifted = false;
};

Value cut(Builder& net, const Value& x, const Windows& windows) {
  const std::int64_t width = x.shape[3];
  const Value tiles = net.reshape_wholly(x, {windows.rows, side, windows.columns, side, width});
  return net.reshape_wholly(net.transpose(tiles, {0, 1, 3, 2, 4, 5}), {area, width}, windows.count());
}

Value joined(Builder& net, const Value& x, const Windows& windows) {
  const std::int64_t width = x.shape[2];
  const Value tiles = net.reshape_wholly(x, {windows.rows, windows.columns, side, side, width});
  return net.reshape_wholly(net.transpose(tiles, {0, 1, 3, 2, 4, 5}),
                            {windows.rows * side, windows.columns * side, width});
}

/// The first `by` elements of the axis go to its end.
Value rolled(Builder& net, const Value& x, std::size_t axis, std::int64_t by) {
  const Value first = net.slice(x, axis, 0, by), rest = net.slice(x, axis, by, x.shape[axis]);
  return net.concat({rest, first}, axis);
}

Value rolled(Builder& net, const Value& x, const Windows& windows, std::int64_t by) {
  Value y = x;
  if (windows.rows > 1) y = rolled(net, y, 1, by > 0 ? by : x.shape[1] + by);
  if (windows.columns > 1) y = rolled(net, y, 2, by > 0 ? by : x.shape[2] + by);
  return y;
}

/// One of the parts into which shifting cuts an axis of the image.
struct Part {
  std::int64_t from, to;  // negative numbers count from the end
};

std::vector<Part> parts_of(std::int64_t windows) {
  constexpr std::int64_t end = INT64_MAX;
  if (windows == 1) return {{0, end}};
  return {{0, -side}, {-side, -shift}, {-shift, end}};
}

/// The places of a part, as indices of ScatterND.
std::vector<std::int64_t> places(const Part& part, std::int64_t extent) {
  const std::int64_t from = part.from < 0 ? extent + part.from : part.from;
  const std::int64_t to = part.to < 0 ? extent + part.to : std::min(part.to, extent);
  std::vector<std::int64_t> result;
  for (std::int64_t place = from; place < to; ++place) result.push_back(place);
  return result;
}

/// An image with another number for each part, as assignments to slices are exported.
Value numbered_parts(Builder& net, std::int64_t height, std::int64_t width, const Windows& windows) {
  Value image = net.zeros({height, width});
  double number = 0;
  for (const Part& rows : parts_of(windows.rows))
    for (const Part& columns : parts_of(windows.columns)) {
      const std::vector<std::int64_t> down = places(rows, height), across = places(columns, width);
      const auto tall = static_cast<std::int64_t>(down.size()), wide = static_cast<std::int64_t>(across.size());
      const Value some = net.apply("Slice",
                                   {image, net.integers({rows.from}, {1}), net.integers({rows.to}, {1}),
                                    net.integers({0}, {1}), net.integers({1}, {1})},
                                   {tall, width}, {});
      const Value update = net.reals(std::vector<double>(down.size() * across.size(), number++), {wide, tall});
      const Value turned =
          net.apply("ScatterND", {net.transpose(some, {1, 0}), net.integers(across, {wide, 1}), update}, {width, tall},
                    {}, {{"reduction", std::string("none")}});
      image = net.apply("ScatterND", {image, net.integers(down, {tall, 1}), net.transpose(turned, {1, 0})},
                        {height, width}, {}, {{"reduction", std::string("none")}});
    }
  return image;
}

/// 0 for places of the same part, -100 for others: [1, windows, 1, area, area].
Value seam_mask(Builder& net, std::int64_t height, std::int64_t width, const Windows& windows) {
  const std::int64_t count = windows.count();
  const std::vector<std::int64_t> pairs{count, area, area};
  const Value parts = numbered_parts(net, height, width, windows);
  const Value tiles = net.apply("Reshape", {parts, net.integers({windows.rows, side, windows.columns, side}, {4})},
                                {windows.rows, side, windows.columns, side}, {}, {{"allowzero", std::int64_t{1}}});
  const Value flat = net.apply("Reshape", {net.transpose(tiles, {0, 2, 1, 3}), net.integers({count, area}, {2})},
                               {count, area}, {}, {{"allowzero", std::int64_t{1}}});
  const Value difference = net.apply("Sub", {net.unsqueeze(flat, 1), net.unsqueeze(flat, 2)}, pairs, {});
  const Value zero = net.reals({0}, {});
  const Value is_same = net.apply("Equal", {difference, zero}, pairs, {});
  const Value differs = net.apply("Not", {is_same}, pairs, {});
  const Value far = net.apply("Where", {differs, net.reals({-100}, {}), difference}, pairs, {});
  const Value mask = net.apply("Where", {is_same, zero, far}, pairs, {0, 0});
  return net.apply("Unsqueeze", {mask, net.integers({0, 2}, {2})}, {1, count, 1, area, area}, {0, 0});
}

/// What is added to scores, by the distance of two places.
Value position_bias(Builder& net, std::int64_t heads) {
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < area; ++i)
    for (std::int64_t j = 0; j < area; ++j) {
      const std::int64_t down = i / side - j / side + side - 1, across = i % side - j % side + side - 1;
      index.push_back(down * (2 * side - 1) + across);
    }
  const std::int64_t distances = (2 * side - 1) * (2 * side - 1);
  const Value table = net.parameter("relative_position_bias_table", {distances, heads}, {0, 0.3});
  const Value rows = net.apply("Gather", {table, net.integers(index, {area * area})}, {area * area, heads}, table.power,
                               {{"axis", std::int64_t{0}}});
  const Value square = net.apply("Reshape", {rows, net.integers({area, area, -1}, {3})}, {area, area, heads},
                                 table.power, {{"allowzero", std::int64_t{1}}});
  return net.unsqueeze(net.transpose(square, {2, 0, 1}), 0);
}

/// Attention within each window of [windows of all images, area, width].
Value window_attention(Builder& net, const Value& x, const Windows& windows, const std::optional<Value>& mask) {
  const std::int64_t width = x.shape[2], heads = width / head_width, count = windows.count();
  const Value bias = position_bias(net, heads);
  const Value together = net.reshape_wholly(net.linear(x, "qkv", 3 * width), {area, 3, heads, head_width}, count);
  const Value stack = net.transpose(together, {2, 0, 3, 1, 4});
  std::vector<Value> parts;
  for (std::int64_t part = 0; part < 3; ++part)
    parts.push_back(net.apply("Gather", {stack, net.integers({part}, {})}, {stack.shape.begin() + 1, stack.shape.end()},
                              stack.power, {{"axis", std::int64_t{0}}}));
  const Value query = net.arithmetic("Mul", parts[0], 1 / std::sqrt(static_cast<double>(head_width)));
  Value scores = net.add(net.matmul(query, net.transpose(parts[1], {0, 1, 3, 2})), bias);
  if (mask) {
    const Value apart = net.reshape_wholly(scores, {count, heads, area, area});
    scores = net.reshape_wholly(net.add(apart, *mask), {heads, area, area}, count);
  }
  Value context = net.matmul(net.softmax(scores), parts[2]);
  context.power = parts[2].power;  // an average of values
  const Value rows = net.reshape_wholly(net.transpose(context, {0, 2, 1, 3}), {area, width}, count);
  return net.linear(rows, "proj", width);
}

Value padded(Builder& net, const Value& x, std::int64_t multiple) {
  std::vector<std::int64_t> shape = x.shape, pads(8, 0);
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    pads[4 + axis] = (multiple - x.shape[axis] % multiple) % multiple;
    shape[axis] += pads[4 + axis];
  }
  return net.apply("Pad", {x, net.integers(pads, {8})}, shape, x.power, {{"mode", std::string("constant")}});
}

Value attended(Builder& net, const Value& x, bool is_shifted, std::optional<Value>& mask) {
  const auto scope = net.scope("attn");
  Value y = padded(net, x, side);
  Windows windows{y.shape[1] / side, y.shape[2] / side};
  windows.is_shifted = is_shifted && windows.count() > 1;
  if (windows.is_shifted) y = rolled(net, y, windows, shift);
  if (windows.is_shifted && !mask) mask = seam_mask(net, y.shape[1], y.shape[2], windows);
  y = joined(net, window_attention(net, cut(net, y, windows), windows, windows.is_shifted ? mask : std::nullopt),
             windows);
  if (windows.is_shifted) y = rolled(net, y, windows, -shift);
  if (y.shape[1] > x.shape[1]) y = net.slice(y, 1, 0, x.shape[1]);
  if (y.shape[2] > x.shape[2]) y = net.slice(y, 2, 0, x.shape[2]);
  return y;
}

Value swin_block(Builder& net, const Value& x, bool is_shifted, std::optional<Value>& mask) {
  const std::int64_t width = x.shape[3];
  const Value y = net.add(x, attended(net, net.layer_norm(x, "norm1", epsilon), is_shifted, mask));
  const Value inner = exact_gelu(net, net.linear(net.layer_norm(y, "norm2", epsilon), "mlp.0", 4 * width));
  return net.add(y, net.linear(inner, "mlp.3", width));
}

/// Each 2x2 places become one, with half of their features together.
Value merged(Builder& net, const Value& x) {
  const Value y = padded(net, x, 2);
  const std::int64_t height = y.shape[1], breadth = y.shape[2];
  const Value even = net.slice(y, 1, 0, height, 2), odd = net.slice(y, 1, 1, height, 2);
  const Value four = net.concat({net.slice(even, 2, 0, breadth, 2), net.slice(odd, 2, 0, breadth, 2),
                                 net.slice(even, 2, 1, breadth, 2), net.slice(odd, 2, 1, breadth, 2)},
                                3);
  return net.linear(net.layer_norm(four, "norm", epsilon), "reduction", 2 * x.shape[3], false);
}

}  // namespace

void build_swin_tiny(Builder& net, const Variant& variant) {
  const auto pairs = blocks_by_stage(variant, {1, 1, 3, 1});
  const Value images = net.input("images", {3, variant.image_size, variant.image_size});
  Value x = net.conv(images, "features.0.0", widths[0], {.kernel = 4, .stride = 4}, {.bias = true});
  x = net.layer_norm(net.transpose(x, {0, 2, 3, 1}), "features.0.2", epsilon);
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    if (stage > 0) {
      const auto scope = net.scope(fmt::format("features.{}", 2 * stage));
      x = merged(net, x);
    }
    std::optional<Value> mask;  // the same for all blocks of a stage
    for (std::int64_t block = 0; block < 2 * pairs[stage]; ++block) {
      const auto scope = net.scope(fmt::format("features.{}.{}", 2 * stage + 1, block));
      x = swin_block(net, x, block % 2 == 1, mask);
    }
  }
  x = net.transpose(net.layer_norm(x, "norm", epsilon), {0, 3, 1, 2});
  x = net.reshape_wholly(pooled(net, x), {widths.back()});
  net.output(net.linear(x, "head", 1000), "logits");
}

}  // namespace taso::examples
