// Resize and GridSample: weighted elements at computed places. Coordinates are doubles, as on the host, because a
// rounded coordinate may be that of another element.
#include <algorithm>
#include <cmath>

#include "runtime/gpu/functions/place_writer.h"

namespace taso::gpu::kernels {
namespace {

enum Mode : std::int64_t { nearest, linear, cubic };

/// A literal of exactly this value.
std::string literal(double value) { return number(value, Arithmetic::twice); }

constexpr std::string_view clamping = R"(__device__ inline whole clamped(double value, whole extent) {
  if (!(value > 0)) return 0;
  return value >= static_cast<double>(extent - 1) ? extent - 1 : static_cast<whole>(value);
}
)";

constexpr std::string_view linear_kernel =
    "__device__ inline double weight_of(double x) { x = fabs(x); return x < 1 ? 1 - x : 0; }\n";

/// Keys' cubic kernel.
std::string cubic_kernel(double a) {
  return fmt::format(
      "__device__ inline double weight_of(double x) {{\n  const double a = {};\n  x = fabs(x);\n"
      "  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;\n"
      "  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;\n}}\n",
      literal(a));
}

/// Up to four places along one axis, with their weights; -1 is outside. PADDING and ALIGNED are constants.
constexpr std::string_view sample_line = R"(__device__ inline double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double place = fmod(fabs(at - low), 2 * range);
  return low + (place <= range ? place : 2 * range - place);
}
struct SampleLine { whole places[4]; double weights[4]; };
__device__ inline void add_sample(SampleLine& line, int k, double place, double weight, double length, double low,
                                  double high) {
  if (place < 0 || place > length - 1) {
    if (PADDING == 0) place = -1;
    if (PADDING == 2) place = trunc(reflected(place, low, high));
    if (PADDING != 0) place = place < 0 ? 0 : place > length - 1 ? length - 1 : place;
  }
  line.places[k] = static_cast<whole>(place);
  line.weights[k] = weight;
}
__device__ inline SampleLine line_at(double normal, whole extent) {
  const double length = static_cast<double>(extent);
  double at = ALIGNED ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
  if (!(fabs(at) < 1e12)) at = at > 0 ? 1e12 : -1e12;
  const double low = ALIGNED ? 0 : -0.5, high = ALIGNED ? length - 1 : length - 0.5;
  if (MODE == 0) at = rint(at);
  if (at < low || at > high) {
    if (PADDING == 1) at = at < 0 ? 0 : at > length - 1 ? length - 1 : at;
    if (PADDING == 2) at = reflected(at, low, high);
  }
  const double base = floor(at), t = at - base;
  SampleLine line;
  if (MODE == 0) add_sample(line, 0, trunc(at), 1, length, low, high);
  if (MODE == 1) {
    add_sample(line, 0, base, 1 - t, length, low, high);
    add_sample(line, 1, base + 1, t, length, low, high);
  }
  if (MODE == 2) {
    const double a = -0.75, u = 1 - t, v = t + 1, w = 2 - t;
    add_sample(line, 0, base - 1, ((a * v - 5 * a) * v + 8 * a) * v - 4 * a, length, low, high);
    add_sample(line, 1, base, ((a + 2) * t - (a + 3)) * t * t + 1, length, low, high);
    add_sample(line, 2, base + 1, ((a + 2) * u - (a + 3)) * u * u + 1, length, low, high);
    add_sample(line, 3, base + 2, ((a * w - 5 * a) * w + 8 * a) * w - 4 * a, length, low, high);
  }
  return line;
}
)";

/// The coordinate in the operand for the element `at` of the result.
std::string origin(std::int64_t kind, const std::string& at, std::int64_t extent, std::int64_t wanted, double scale) {
  const auto in = static_cast<double>(extent), out = static_cast<double>(wanted);
  const double exact = scale * in;  // the extent of the result before rounding down
  const std::string half = fmt::format("({} + 0.5) / {}", at, literal(scale));
  switch (kind) {
    case 1: return fmt::format("{} / {}", at, literal(scale));
    case 2:
      return exact == 1 || wanted == 1 ? "0.0" : fmt::format("{} * {} / {}", at, literal(in - 1), literal(exact - 1));
    case 3: return wanted > 1 ? half + " - 0.5" : "0.0";
    case 4: return half;
    case 5: return fmt::format("{} + {} - 0.5", literal(in / 2 * (1 - out / exact)), half);
    default: return half + " - 0.5";
  }
}

std::string rounded(std::int64_t kind, const std::string& at) {
  switch (kind) {
    case 0: return fmt::format("ceil({} - 0.5)", at);
    case 1: return fmt::format("floor({} + 0.5)", at);
    case 2: return fmt::format("floor({})", at);
    default: return fmt::format("ceil({})", at);
  }
}

}  // namespace

std::string sampling_definitions(const cost::DeviceFunction& function) {
  if (function.name == "GridSample") {
    std::string text = fmt::format("#define MODE {}\n#define PADDING {}\n#define ALIGNED {}\n", function.integers[0],
                                   function.integers[1], function.integers[2]);
    return text + std::string(sample_line) + "#undef MODE\n#undef PADDING\n#undef ALIGNED\n";
  }
  if (function.name != "Resize") return "";
  std::string text(clamping);
  if (function.integers[0] == linear) text += linear_kernel;
  if (function.integers[0] == cubic) text += cubic_kernel(function.numbers[0]);
  return text;
}

void write_resize(PlaceWriter& to) {
  const std::int64_t mode = to.integers()[0], coordinates = to.integers()[1], rounding = to.integers()[2];
  const bool excludes = to.integers()[3] != 0, widens = to.integers()[4] != 0;
  const Extents &x = to.extents(0), &result = to.result();
  Code& code = to.code();
  to.indices("i", "i", result);
  std::vector<std::string> places = numbered("p", x.size());
  std::vector<std::size_t> sampled;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const double scale = to.numbers()[1 + axis];
    if (x[axis] == result[axis] && scale == 1) {  // unchanged
      places[axis] = fmt::format("i{}", axis);
      continue;
    }
    code.line("const double at{} = {};", axis,
              origin(coordinates, fmt::format("static_cast<double>(i{})", axis), x[axis], result[axis], scale));
    if (mode == nearest)
      code.line("const whole p{} = clamped({}, {});", axis, rounded(rounding, fmt::format("at{}", axis)), x[axis]);
    else
      sampled.push_back(axis);
  }
  const std::string element = to.element(0, to.place(places, x));
  if (sampled.empty()) return code.line("w0[i] = {};", element);
  std::string weight;
  const auto open_axis = [&](std::size_t axis) {
    // If the result is smaller, a kernel that widens covers the whole operand.
    const double squeeze = widens ? std::min(to.numbers()[1 + axis], 1.0) : 1.0;
    const double reach = (mode == linear ? 1 : 2) / squeeze;
    const auto first = static_cast<std::int64_t>(std::floor(-reach)) + 1;
    code.open("for (int k{0} = {1}; k{0} <= {2}; ++k{0})", axis, first, 1 - first);
    code.line("const double q{0} = floor(at{0}) + k{0};", axis);
    code.line("const double v{0} = weight_of((q{0} - at{0}) * {1});", axis, literal(squeeze));
    code.line("if (v{0} == 0{1}) continue;", axis,
              excludes ? fmt::format(" || q{0} < 0 || q{0} >= {1}.0", axis, x[axis]) : std::string());
  };
  for (const std::size_t axis : sampled) {
    code.line("double sum{} = 0;", axis);
    if (!excludes && !widens) continue;
    open_axis(axis);
    code.line("sum{0} += v{0};", axis);
    code.close();
  }
  code.line("real total = 0;");
  for (const std::size_t axis : sampled) {
    open_axis(axis);
    code.line("const whole p{0} = clamped(q{0}, {1});", axis, x[axis]);
    code.line("const double w{0} = sum{0} != 0 ? v{0} / sum{0} : v{0};", axis);
    weight += fmt::format("{}w{}", weight.empty() ? "" : " * ", axis);
  }
  code.line("total += static_cast<real>({}) * get({});", weight, element);
  for (std::size_t i = 0; i < sampled.size(); ++i) code.close();
  code.line("w0[i] = put<{}>(total);", to.type());
}

void write_grid_sample(PlaceWriter& to) {
  const std::int64_t mode = to.integers()[0];
  const Extents& x = to.extents(0);
  const std::size_t rank = x.size() - 2;
  std::int64_t points = 1;
  for (std::size_t i = 2; i < to.result().size(); ++i) points *= to.result()[i];
  Code& code = to.code();
  code.line("const whole point = i % {}, plane = i / {}, example = plane / {};", points, points, x[1]);
  for (std::size_t axis = 0; axis < rank; ++axis)  // coordinates start with the last axis
    code.line("const SampleLine line{} = line_at(static_cast<double>(get({})), {});", axis,
              to.element(1, fmt::format("(example * {} + point) * {} + {}", points, rank, rank - 1 - axis)),
              x[2 + axis]);
  code.line("real total = 0;");
  std::string weight, place = "plane";
  for (std::size_t axis = 0; axis < rank; ++axis) {
    code.unrolled(fmt::format("k{}", axis), mode == nearest ? 1 : mode == linear ? 2 : 4);
    code.line("if (line{0}.places[k{0}] < 0) continue;", axis);
    weight += fmt::format("{}line{}.weights[k{}]", weight.empty() ? "" : " * ", axis, axis);
    place = fmt::format("({}) * {} + line{}.places[k{}]", place, x[2 + axis], axis, axis);
  }
  code.line("const real weight = static_cast<real>({});", weight);
  code.line("if (weight != 0) total += weight * get({});", to.element(0, place));
  for (std::size_t axis = 0; axis < rank; ++axis) code.close();
  code.line("w0[i] = put<{}>(total);", to.type());
}

}  // namespace taso::gpu::kernels
