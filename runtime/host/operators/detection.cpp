// Operators of object detectors: suppression of overlapping boxes, and pooling of regions to one size.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

struct Box {
  double top, left, bottom, right;
};

Box read_box(const double* numbers, bool centre) {
  if (centre) {  // x, y, width, height
    const double x = numbers[0], y = numbers[1], half_width = numbers[2] / 2, half_height = numbers[3] / 2;
    return {y - half_height, x - half_width, y + half_height, x + half_width};
  }
  // Any two opposite corners.
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]), std::max(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3])};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0)) return 0;
  const auto area = [](const Box& box) { return (box.bottom - box.top) * (box.right - box.left); };
  const double together = area(a) + area(b) - height * width;
  return together > 0 ? height * width / together : 0;
}

Arrays non_max_suppression(const HostCall& call) {
  require_rank(call, 0, 3);
  require_rank(call, 1, 3);
  const Extents& box_extents = call.input(0).extents();
  const Extents& score_extents = call.input(1).extents();
  require(call, box_extents[2] == 4 && box_extents[0] == score_extents[0] && box_extents[1] == score_extents[2],
          "boxes must be [N, boxes, 4] and scores [N, classes, boxes]");
  const bool centre = call.attributes.integer("center_point_box", 0) != 0;
  const std::int64_t most = call.has(2) ? integer_of(call, 2) : 0;
  const double most_overlap = call.has(3) ? number_of(call, 3) : 0;
  const double least_score = call.has(4) ? number_of(call, 4) : -std::numeric_limits<double>::infinity();
  const std::size_t batches = unsign(box_extents[0]), boxes = unsign(box_extents[1]),
                    classes = unsign(score_extents[1]);
  const std::vector<double> corners = call.input(0).doubles(), scores = call.input(1).doubles();
  std::vector<std::int64_t> found;
  for (std::size_t n = 0; n < batches; ++n)
    for (std::size_t c = 0; c < classes; ++c) {
      const double* score = scores.data() + (n * classes + c) * boxes;
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < boxes; ++i)
        if (!std::isnan(score[i]) && (!call.has(4) || score[i] > least_score)) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [score](auto a, auto b) { return score[a] > score[b]; });
      std::vector<Box> chosen;
      for (const std::size_t i : order) {
        if (sign(chosen.size()) >= most) break;
        const Box box = read_box(corners.data() + (n * boxes + i) * 4, centre);
        if (std::any_of(chosen.begin(), chosen.end(),
                        [&](const Box& other) { return overlap(box, other) > most_overlap; }))
          continue;
        chosen.push_back(box);
        found.insert(found.end(), {sign(n), sign(c), sign(i)});
      }
    }
  return {Array::of<std::int64_t>({sign(found.size()) / 3, 3}, found)};
}

/// Four elements around a point of a [height, width] plane, with the weights to interpolate between them.
struct Corners {
  std::array<std::size_t, 4> places{};
  std::array<double, 4> weights{};
};

Corners corners_at(double y, double x, std::int64_t height, std::int64_t width) {
  Corners corners;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return corners;
  const auto between = [](double at, std::int64_t extent, std::int64_t& low, std::int64_t& high) {
    at = std::max(at, 0.0);
    low = std::min(static_cast<std::int64_t>(at), extent - 1);
    high = std::min(low + 1, extent - 1);
    return low == extent - 1 ? 0 : at - static_cast<double>(low);
  };
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  const double down = between(y, height, top, bottom), across = between(x, width, left, right);
  corners.places = {unsign(top * width + left), unsign(top * width + right), unsign(bottom * width + left),
                    unsign(bottom * width + right)};
  corners.weights = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
  return corners;
}

Arrays roi_align(const HostCall& call) {
  const Array& x = call.input(0);
  require_floating(call, 0);
  require_rank(call, 0, 4);
  require_rank(call, 1, 2);
  const std::int64_t regions = call.input(1).extents()[0];
  require(call, call.input(1).extents()[1] == 4, "the regions must be [R, 4]");
  const std::vector<double> rois = call.input(1).doubles();
  const std::vector<std::int64_t> batches = integers_of(call, 2);
  require(call, sign(batches.size()) == regions, "there must be one batch index per region");
  const std::int64_t rows = call.attributes.integer("output_height", 1),
                     columns = call.attributes.integer("output_width", 1);
  const std::int64_t ratio = call.attributes.integer("sampling_ratio", 0);
  require(call, rows > 0 && columns > 0 && ratio >= 0 && ratio < (1 << 16), "an attribute is out of range");
  const double scale = call.attributes.number("spatial_scale", 1);
  const std::string mode = call.attributes.text("mode", "avg");
  require(call, mode == "avg" || mode == "max", "unknown mode");
  const bool half_pixel =
      call.opset >= 16 && call.attributes.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const std::int64_t channels = x.extents()[1], height = x.extents()[2], width = x.extents()[3];
  Array result = make_array(call, ElementType::float64, {regions, channels, rows, columns});
  if (result.size() == 0) return {result.cast(x.type())};
  require(call, height > 0 && width > 0, "the feature map is empty");
  const auto out = result.mutable_values<double>();
  const std::vector<double> values = x.doubles();
  std::vector<Corners> samples;
  for (std::size_t r = 0; r < unsign(regions); ++r) {
    const std::int64_t batch = index_in(call, batches[r], x.extents()[0]);
    const double shift = half_pixel ? 0.5 : 0;
    const double left = rois[4 * r] * scale - shift, top = rois[4 * r + 1] * scale - shift;
    double across = rois[4 * r + 2] * scale - shift - left, down = rois[4 * r + 3] * scale - shift - top;
    if (!half_pixel) {  // empty regions count as one element
      across = std::max(across, 1.0);
      down = std::max(down, 1.0);
    }
    const double row_step = down / static_cast<double>(rows), column_step = across / static_cast<double>(columns);
    const double grid_rows = ratio > 0 ? static_cast<double>(ratio) : std::max(0.0, std::ceil(row_step));
    const double grid_columns = ratio > 0 ? static_cast<double>(ratio) : std::max(0.0, std::ceil(column_step));
    require(call, grid_rows * grid_columns < 1e6, "a region is too large");
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        samples.clear();
        for (double i = 0; i < grid_rows; ++i)
          for (double j = 0; j < grid_columns; ++j)
            samples.push_back(corners_at(top + (static_cast<double>(row) + (i + 0.5) / grid_rows) * row_step,
                                         left + (static_cast<double>(column) + (j + 0.5) / grid_columns) * column_step,
                                         height, width));
        for (std::int64_t c = 0; c < channels; ++c) {
          const double* plane = values.data() + unsign((batch * channels + c) * height * width);
          double sum = 0, largest = -std::numeric_limits<double>::infinity();
          for (const Corners& corners : samples)
            for (std::size_t k = 0; k < 4; ++k) {
              const double part = corners.weights[k] * plane[corners.places[k]];
              sum += part;
              largest = std::max(largest, part);  // ONNX takes the largest weighted corner
            }
          const double number = std::max<double>(1, static_cast<double>(samples.size()));
          double& to = out[unsign(((sign(r) * channels + c) * rows + row) * columns + column)];
          to = mode == "avg" ? sum / number : samples.empty() ? 0 : largest;
        }
      }
  }
  return {result.cast(x.type())};
}

Arrays max_roi_pool(const HostCall& call) {
  const Array& x = call.input(0);
  require_floating(call, 0);
  require_rank(call, 0, 4);
  require_rank(call, 1, 2);
  require(call, call.input(1).extents()[1] == 5, "the regions must be [R, 5]");
  const std::vector<std::int64_t> pooled = call.attributes.integers("pooled_shape");
  require(call, pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0, "pooled_shape must be two positive numbers");
  const double scale = call.attributes.number("spatial_scale", 1);
  const std::int64_t regions = call.input(1).extents()[0], channels = x.extents()[1];
  const std::array<std::int64_t, 2> limits{x.extents()[2], x.extents()[3]};
  const std::vector<double> rois = call.input(1).doubles(), values = x.doubles();
  Array result = make_zeros(call, ElementType::float64, {regions, channels, pooled[0], pooled[1]});
  const auto out = result.mutable_values<double>();
  /// The elements in bin `bin` of a region from `first` to `last`, inclusive.
  const auto reach = [&](std::size_t axis, double first, double last, std::int64_t bin) {
    const double start = std::round(first * scale), length = std::max(std::round(last * scale) - start + 1, 1.0);
    const double step = length / static_cast<double>(pooled[axis]);
    const auto clamp = [&](double at) {
      return static_cast<std::int64_t>(std::clamp(std::isnan(at) ? 0 : at, 0.0, static_cast<double>(limits[axis])));
    };
    return std::pair(clamp(std::floor(static_cast<double>(bin) * step) + start),
                     clamp(std::ceil(static_cast<double>(bin + 1) * step) + start));
  };
  for (std::int64_t r = 0; r < regions; ++r) {
    const double* roi = rois.data() + unsign(r) * 5;
    require(call, roi[0] >= 0 && roi[0] < static_cast<double>(x.extents()[0]), "a batch index is out of range");
    const auto batch = static_cast<std::int64_t>(roi[0]);
    for (std::int64_t row = 0; row < pooled[0]; ++row)
      for (std::int64_t column = 0; column < pooled[1]; ++column) {
        const auto [top, bottom] = reach(0, roi[2], roi[4], row);
        const auto [left, right] = reach(1, roi[1], roi[3], column);
        for (std::int64_t c = 0; c < channels; ++c) {
          const double* plane = values.data() + unsign((batch * channels + c) * limits[0] * limits[1]);
          double& to = out[unsign(((r * channels + c) * pooled[0] + row) * pooled[1] + column)];
          if (top < bottom && left < right) to = -std::numeric_limits<double>::infinity();
          for (std::int64_t i = top; i < bottom; ++i)
            for (std::int64_t j = left; j < right; ++j) to = std::max(to, plane[i * limits[1] + j]);
        }
      }
  }
  return {result.cast(x.type())};
}

}  // namespace

Family detection() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"NonMaxSuppression", non_max_suppression},
      {"RoiAlign", roi_align},
      {"MaxRoiPool", max_roi_pool},
  };
  return functions;
}

}  // namespace taso::runtime
