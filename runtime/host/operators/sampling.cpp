// GridSample and AffineGrid: sample images at the coordinates of a grid.
#include <algorithm>
#include <cmath>

#include "ops/core/tensor.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

enum class Padding { zeros, border, reflection };

struct Sampler {
  enum { nearest, linear, cubic } mode = linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

Sampler read_sampler(const HostCall& call) {
  Sampler sampler;
  const std::string mode = call.attributes.text("mode", "linear");  // "bilinear" and "bicubic" until opset 19
  if (mode == "nearest")
    sampler.mode = Sampler::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    sampler.mode = Sampler::cubic;
  else
    require(call, mode == "linear" || mode == "bilinear", "unknown mode");
  const std::string padding = call.attributes.text("padding_mode", "zeros");
  if (padding == "border")
    sampler.padding = Padding::border;
  else if (padding == "reflection")
    sampler.padding = Padding::reflection;
  else
    require(call, padding == "zeros", "unknown padding_mode");
  sampler.align_corners = call.attributes.integer("align_corners", 0) != 0;
  return sampler;
}

/// Reflects a coordinate at both ends until it lies between them.
double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double place = std::fmod(std::abs(at - low), 2 * range);
  return low + (place <= range ? place : 2 * range - place);
}

/// Up to four places along one dimension, with their weights; -1 is outside.
struct SampleLine {
  std::int64_t places[4];
  double weights[4];
  std::size_t count = 0;
};

SampleLine line_at(const Sampler& sampler, double normal, std::int64_t extent) {
  const auto length = static_cast<double>(extent);
  double at = sampler.align_corners ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
  if (!(std::abs(at) < 1e12)) at = at > 0 ? 1e12 : -1e12;  // too far away, or NaN: outside
  const double low = sampler.align_corners ? 0 : -0.5, high = sampler.align_corners ? length - 1 : length - 0.5;
  if (sampler.mode == Sampler::nearest) at = std::nearbyint(at);
  if (at < low || at > high) {
    if (sampler.padding == Padding::border) at = std::clamp(at, 0.0, length - 1);
    if (sampler.padding == Padding::reflection) at = reflected(at, low, high);
  }
  const double base = std::floor(at), t = at - base;
  SampleLine line;
  const auto add = [&](double place, double weight) {
    if (place < 0 || place > length - 1) {
      if (sampler.padding == Padding::zeros) place = -1;
      if (sampler.padding == Padding::border) place = std::clamp(place, 0.0, length - 1);
      if (sampler.padding == Padding::reflection)
        place = std::clamp(std::trunc(reflected(place, low, high)), 0.0, length - 1);
    }
    line.places[line.count] = static_cast<std::int64_t>(place);
    line.weights[line.count++] = weight;
  };
  switch (sampler.mode) {
    case Sampler::nearest: add(std::trunc(at), 1); break;
    case Sampler::linear:
      add(base, 1 - t);
      add(base + 1, t);
      break;
    case Sampler::cubic: {
      constexpr double a = -0.75;
      const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
      const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
      add(base - 1, far(t + 1));
      add(base, near(t));
      add(base + 1, near(1 - t));
      add(base + 2, far(2 - t));
      break;
    }
  }
  return line;
}

Arrays grid_sample(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& grid = call.input(1);
  require(call, x.rank() >= 3 && grid.rank() == x.rank(), "the operands must be [N, C, ...] and [N, ..., r]");
  const std::size_t rank = x.rank() - 2;
  require(call, grid.extents()[0] == x.extents()[0] && grid.extents().back() == sign(rank),
          "the grid does not fit the operand");
  require_floating(call, 1);
  const Sampler sampler = read_sampler(call);
  const Extents spatial(x.extents().begin() + 2, x.extents().end());
  const auto strides = strides_of(spatial);
  Extents extents{x.extents()[0], x.extents()[1]};
  extents.insert(extents.end(), grid.extents().begin() + 1, grid.extents().end() - 1);
  Array sums = make_zeros(call, ElementType::float64, extents);
  if (sums.size() == 0) return {sums.cast(x.type())};
  for (const std::int64_t extent : spatial) require(call, extent > 0, "the image is empty");
  const std::size_t batches = unsign(extents[0]), channels = unsign(extents[1]);
  const std::size_t points = unsign(sums.size()) / batches / channels, plane = unsign(count(spatial));
  const std::vector<double> values = x.doubles(), coordinates = grid.doubles();
  const auto out = sums.mutable_values<double>();
  std::vector<SampleLine> lines(rank);
  Extents counts(rank);
  for (std::size_t n = 0; n < batches; ++n)
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t i = 0; i < rank; ++i) {  // grid coordinates start with the last dimension
        lines[i] = line_at(sampler, coordinates[(n * points + p) * rank + rank - 1 - i], spatial[i]);
        counts[i] = sign(lines[i].count);
      }
      for_each_index(counts, [&](const Extents& index) {
        double weight = 1;
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < rank; ++i) {
          const std::int64_t place = lines[i].places[index[i]];
          if (place < 0) return;
          weight *= lines[i].weights[index[i]];
          offset += place * strides[i];
        }
        if (weight == 0) return;
        for (std::size_t c = 0; c < channels; ++c)
          out[(n * channels + c) * points + p] += weight * values[(n * channels + c) * plane + unsign(offset)];
      });
    }
  return {sums.cast(x.type())};
}

Arrays affine_grid(const HostCall& call) {
  const Array& theta = call.input(0);
  require_floating(call, 0);
  require_rank(call, 0, 3);
  const std::vector<std::int64_t> size = integers_of(call, 1);
  require(call, size.size() == 4 || size.size() == 5, "size must be [N, C, H, W] or [N, C, D, H, W]");
  const std::size_t rank = size.size() - 2;
  require(call, theta.extents() == Extents{size[0], sign(rank), sign(rank) + 1}, "theta does not fit the size");
  const bool align = call.attributes.integer("align_corners", 0) != 0;
  Extents extents{size[0]};
  extents.insert(extents.end(), size.begin() + 2, size.end());
  const Extents spatial(size.begin() + 2, size.end());
  extents.push_back(sign(rank));
  Array result = make_array(call, ElementType::float64, extents);
  const auto out = result.mutable_values<double>();
  const std::vector<double> matrix = theta.doubles();
  std::size_t next = 0;
  for (std::size_t n = 0; n < unsign(size[0]); ++n)
    for_each_index(spatial, [&](const Extents& index) {
      for (std::size_t row = 0; row < rank; ++row) {
        const double* line = matrix.data() + (n * rank + row) * (rank + 1);
        double sum = line[rank];
        for (std::size_t k = 0; k < rank; ++k) {  // the matrix starts with the last dimension
          const auto at = static_cast<double>(index[rank - 1 - k]), length = static_cast<double>(spatial[rank - 1 - k]);
          const double normal = align ? (length > 1 ? 2 * at / (length - 1) - 1 : -1) : (2 * at + 1) / length - 1;
          sum += line[k] * normal;
        }
        out[next++] = sum;
      }
    });
  return {result.cast(theta.type())};
}

}  // namespace

Family sampling() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"GridSample", grid_sample},
                                                                            {"AffineGrid", affine_grid}};
  return functions;
}

}  // namespace taso::runtime
