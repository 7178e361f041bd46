// Resize and Upsample: sample each spatial dimension at new places.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// How one dimension is resized.
struct Line {
  std::int64_t in = 1, out = 1;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
};

/// The weighted places of the operand that give the result at one place.
struct Sample {
  std::vector<std::int64_t> places;
  std::vector<double> weights;
};

struct Manner {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

Manner read_manner(const HostCall& call) {
  Manner manner;
  manner.mode = call.attributes.text("mode", "nearest");
  // Before opset 11 there was one coordinate mode, and nearest meant rounding down.
  const bool old = call.op_type == "Upsample" || call.opset < 11;
  manner.coordinates = old ? "asymmetric" : call.attributes.text("coordinate_transformation_mode", "half_pixel");
  manner.nearest = old ? "floor" : call.attributes.text("nearest_mode", "round_prefer_floor");
  manner.cubic_a = call.attributes.number("cubic_coeff_a", -0.75);
  manner.extrapolation = call.attributes.number("extrapolation_value", 0);
  manner.exclude_outside = call.attributes.integer("exclude_outside", 0) != 0;
  manner.antialias = call.attributes.integer("antialias", 0) != 0;
  if (manner.mode == "bilinear") manner.mode = "linear";
  require(call, manner.mode == "nearest" || manner.mode == "linear" || manner.mode == "cubic", "unknown mode");
  return manner;
}

/// The coordinate in the operand for element `place` of the result.
double origin(const HostCall& call, const Manner& manner, const Line& line, std::int64_t place) {
  const auto at = static_cast<double>(place), in = static_cast<double>(line.in), out = static_cast<double>(line.out);
  const double exact = line.scale * in;  // the extent of the result before rounding down
  const std::string& mode = manner.coordinates;
  if (mode == "half_pixel") return (at + 0.5) / line.scale - 0.5;
  if (mode == "asymmetric") return at / line.scale;
  if (mode == "align_corners") return exact == 1 || line.out == 1 ? 0 : at * (in - 1) / (exact - 1);
  if (mode == "pytorch_half_pixel") return line.out > 1 ? (at + 0.5) / line.scale - 0.5 : 0;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / line.scale;
  if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / exact) + (at + 0.5) / line.scale - 0.5;
  if (mode == "tf_crop_and_resize") {
    if (line.out == 1) return 0.5 * (line.roi_begin + line.roi_end) * (in - 1);
    return line.roi_begin * (in - 1) + at * (line.roi_end - line.roi_begin) * (in - 1) / (exact - 1);
  }
  refuse(call, "unknown coordinate_transformation_mode");
}

std::int64_t clamped(double value, std::int64_t extent) {
  if (!(value > 0)) return 0;  // also for NaN
  return value >= static_cast<double>(extent - 1) ? extent - 1 : static_cast<std::int64_t>(value);
}

std::int64_t nearest_place(const HostCall& call, const Manner& manner, double at, std::int64_t extent) {
  if (manner.nearest == "round_prefer_floor") return clamped(std::ceil(at - 0.5), extent);
  if (manner.nearest == "round_prefer_ceil") return clamped(std::floor(at + 0.5), extent);
  if (manner.nearest == "floor") return clamped(std::floor(at), extent);
  if (manner.nearest == "ceil") return clamped(std::ceil(at), extent);
  refuse(call, "unknown nearest_mode");
}

/// The interpolation kernel at distance `x`: linear, or Keys' cubic.
double kernel(const Manner& manner, double x) {
  x = std::abs(x);
  if (manner.mode == "linear") return std::max(0.0, 1 - x);
  const double a = manner.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Sample sample_at(const HostCall& call, const Manner& manner, const Line& line, double at) {
  if (!std::isfinite(at)) refuse(call, "a sample lies nowhere");
  // If the result is smaller, an anti-aliasing kernel widens to cover the whole operand.
  const double squeeze = manner.antialias ? std::min(line.scale, 1.0) : 1.0;
  const double reach = (manner.mode == "linear" ? 1 : 2) / squeeze;
  require(call, reach < 1e9 && std::abs(at) < 1e15, "a scale is out of range");
  const double base = std::floor(at);
  const auto first = static_cast<std::int64_t>(std::floor(-reach)) + 1;
  Sample sample;
  double sum = 0;
  for (std::int64_t k = first; k <= 1 - first; ++k) {
    const double place = base + static_cast<double>(k);
    double weight = kernel(manner, (place - at) * squeeze);
    if (manner.exclude_outside && (place < 0 || place >= static_cast<double>(line.in))) weight = 0;
    if (weight == 0) continue;
    sample.places.push_back(clamped(place, line.in));
    sample.weights.push_back(weight);
    sum += weight;
  }
  if (sum != 0 && (manner.exclude_outside || manner.antialias))
    for (double& weight : sample.weights) weight /= sum;
  return sample;
}

/// Resizes one dimension: [outer, in, inner] to [outer, out, inner].
std::vector<double> resampled(const std::vector<double>& from, const std::vector<Sample>& samples, std::size_t outer,
                              std::size_t extent, std::size_t inner) {
  std::vector<double> to(outer * samples.size() * inner, 0);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t j = 0; j < samples.size(); ++j) {
      double* out = to.data() + (o * samples.size() + j) * inner;
      for (std::size_t k = 0; k < samples[j].places.size(); ++k) {
        const double* in = from.data() + (o * extent + unsign(samples[j].places[k])) * inner;
        const double weight = samples[j].weights[k];
        for (std::size_t i = 0; i < inner; ++i) out[i] += weight * in[i];
      }
    }
  return to;
}

/// Reads the new extent of each dimension from the operands.
std::vector<Line> read_lines(const HostCall& call) {
  const Array& x = call.input(0);
  // The operands are X, scales; from opset 11 on X, roi, scales, sizes.
  const bool old = call.op_type == "Upsample" || call.opset < 11;
  const std::size_t scales_at = old ? 1 : 2;
  std::vector<Line> lines(x.rank());
  for (std::size_t i = 0; i < x.rank(); ++i) lines[i] = {x.extents()[i], x.extents()[i], 1, 0, 1};
  std::vector<std::int64_t> all(x.rank());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = axes_in(call, call.attributes.integers("axes", all), x.rank());

  std::vector<double> scales, roi;
  if (call.has(scales_at)) scales = call.input(scales_at).doubles();
  if (call.op_type == "Upsample" && !call.has(1)) scales = call.attributes.numbers("scales");
  if (!old && call.has(1)) roi = call.input(1).doubles();
  const std::vector<std::int64_t> sizes = !old && call.has(3) ? integers_of(call, 3) : std::vector<std::int64_t>{};
  if (!scales.empty()) {
    require(call, scales.size() == axes.size(), "there must be one scale per axis");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double exact = scales[i] * static_cast<double>(x.extents()[axes[i]]);
      require(call, scales[i] > 0 && exact < static_cast<double>(most_elements), "a scale is out of range");
      lines[axes[i]].scale = scales[i];
      lines[axes[i]].out = static_cast<std::int64_t>(std::floor(exact));
    }
  } else {
    require(call, sizes.size() == axes.size(), "there must be scales or one size per axis");
    const std::string policy = call.attributes.text("keep_aspect_ratio_policy", "stretch");
    require(call, policy == "stretch" || policy == "not_larger" || policy == "not_smaller", "unknown policy");
    std::optional<double> shared;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Line& line = lines[axes[i]];
      require(call, sizes[i] >= 0 && sizes[i] <= most_elements, "a size is out of range");
      if (line.in == 0) continue;
      line.out = sizes[i];
      line.scale = static_cast<double>(sizes[i]) / static_cast<double>(line.in);
      if (!shared || (policy == "not_larger" ? line.scale < *shared : line.scale > *shared)) shared = line.scale;
    }
    for (const std::size_t axis : axes) {
      if (policy == "stretch" || !shared) break;
      lines[axis].scale = *shared;
      const double exact = std::floor(*shared * static_cast<double>(lines[axis].in) + 0.5);
      require(call, exact < static_cast<double>(most_elements), "a size is out of range");
      lines[axis].out = static_cast<std::int64_t>(exact);
    }
  }
  if (call.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    require(call, roi.size() == 2 * axes.size(), "roi must hold two numbers per axis");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      lines[axes[i]].roi_begin = roi[i];
      lines[axes[i]].roi_end = roi[axes.size() + i];
    }
  }
  return lines;
}

Arrays resize(const HostCall& call) {
  const Array& x = call.input(0);
  const Manner manner = read_manner(call);
  const std::vector<Line> lines = read_lines(call);
  Extents extents;
  for (const Line& line : lines) extents.push_back(line.out);
  Array result = make_array(call, x.type(), extents);
  if (result.size() == 0) return {result};
  require(call, x.size() > 0, "an empty tensor cannot grow");

  const bool crops = manner.coordinates == "tf_crop_and_resize", nearest = manner.mode == "nearest";
  const auto strides = strides_of(x.extents());
  std::vector<std::vector<std::int64_t>> tables(x.rank());
  std::vector<std::vector<Sample>> samples(x.rank());
  std::vector<std::vector<bool>> outside(x.rank());
  bool any_outside = false;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    // An unchanged dimension needs no arithmetic.
    const bool same = lines[i].in == lines[i].out && lines[i].scale == 1 && !crops;
    for (std::int64_t place = 0; place < lines[i].out; ++place) {
      const double at = same ? static_cast<double>(place) : origin(call, manner, lines[i], place);
      outside[i].push_back(crops && !(at >= 0 && at <= static_cast<double>(lines[i].in - 1)));
      any_outside = any_outside || outside[i].back();
      if (nearest)
        tables[i].push_back((same ? place : nearest_place(call, manner, at, lines[i].in)) * strides[i]);
      else if (!same)
        samples[i].push_back(sample_at(call, manner, lines[i], at));
    }
  }
  if (nearest) {
    copy_mapped(result.mutable_data(), x.data(), tables, size_of(x.type()));
  } else {
    std::vector<double> values = x.doubles();
    Extents current = x.extents();
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (samples[i].empty()) continue;
      const std::size_t outer = unsign(product(call, current, 0, i));
      const std::size_t inner = unsign(product(call, current, i + 1, current.size()));
      values = resampled(values, samples[i], outer, unsign(current[i]), inner);
      current[i] = lines[i].out;
    }
    result = Array::of<double>(extents, values).cast(x.type());
  }
  if (any_outside) {
    std::vector<double> values = result.doubles();
    std::size_t flat = 0;
    for (double& value : values) {
      std::size_t rest = flat++;
      for (std::size_t i = x.rank(); i-- > 0; rest /= unsign(extents[i]))
        if (outside[i][rest % unsign(extents[i])]) value = manner.extrapolation;
    }
    result = Array::of<double>(extents, values).cast(x.type());
  }
  return {std::move(result)};
}

}  // namespace

Family resizing() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"Resize", resize}, {"Upsample", resize}};
  return functions;
}

}  // namespace taso::runtime
