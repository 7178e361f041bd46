// RoiAlign and RotaryEmbedding: see cost/functions/place_function.cpp for their integers and numbers.
#include "runtime/gpu/functions/place_writer.h"

namespace taso::gpu::kernels {
namespace {

/// The average or maximum of weighted corners around the points of a grid, in doubles, as on the host.
constexpr std::string_view corner_text =
    R"(__device__ inline void between(double& at, int extent, int& low, int& high) {
  at = at > 0 ? at : 0;
  low = static_cast<int>(at) < extent - 1 ? static_cast<int>(at) : extent - 1;
  high = low + 1 < extent - 1 ? low + 1 : extent - 1;
  at = low == extent - 1 ? 0 : at - low;
}
)";

}  // namespace

std::string region_definitions() { return std::string(corner_text); }

void write_roi_align(PlaceWriter& to) {
  const Extents &x = to.extents(0), &result = to.result();
  const std::int64_t ratio = to.integers()[0];
  const bool is_max = to.integers()[1] != 0, is_half = to.integers()[2] != 0;
  Code& code = to.code();
  to.indices("i", "i", result);
  to.index("example", to.element(2, "i0"), x[0]);
  const auto corner = [&](int side) {
    return fmt::format("static_cast<double>(get({})) * {} - {}", to.element(1, fmt::format("i0 * 4 + {}", side)),
                       number(to.numbers()[0], Arithmetic::twice), is_half ? "0.5" : "0.0");
  };
  code.line("const double left = {}, top = {};", corner(0), corner(1));
  code.line("double across = {} - left, down = {} - top;", corner(2), corner(3));
  if (!is_half) {  // empty regions count as one element
    code.line("across = across > 1 ? across : 1;");
    code.line("down = down > 1 ? down : 1;");
  }
  code.line("const double row_step = down / {}.0, column_step = across / {}.0;", result[2], result[3]);
  for (const std::string_view name : {"row", "column"}) {
    if (ratio > 0)
      code.line("const double {}s = {}.0;", name, ratio);
    else
      code.line("const double {0}s = ceil({0}_step) > 0 ? ceil({0}_step) : 0;", name);
  }
  code.line("const whole plane = (example * {} + i1) * {};", x[1], x[2] * x[3]);
  code.line("double sum = 0, largest = -static_cast<double>(infinity()), count = 0;");
  code.open("for (double r = 0; r < rows; ++r)");
  code.open("for (double c = 0; c < columns; ++c)");
  code.line("double y = top + (static_cast<double>(i2) + (r + 0.5) / rows) * row_step;");
  code.line("double x = left + (static_cast<double>(i3) + (c + 0.5) / columns) * column_step;");
  code.line("const bool is_inside = y >= -1 && y <= {}.0 && x >= -1 && x <= {}.0;", x[2], x[3]);
  code.line("int above = 0, below = 0, before = 0, behind = 0;");
  code.line("between(y, {}, above, below);", x[2]);
  code.line("between(x, {}, before, behind);", x[3]);
  code.line("count += 1;");
  const std::string_view corners[][3] = {{"above", "before", "(1 - y) * (1 - x)"},
                                         {"above", "behind", "(1 - y) * x"},
                                         {"below", "before", "y * (1 - x)"},
                                         {"below", "behind", "y * x"}};
  for (const auto& [row, column, weight] : corners) {
    code.open("");
    // Outside, the host reads the first element with weight 0.
    code.line("const double part = (is_inside ? {} : 0.0) * static_cast<double>(get({}));", weight,
              to.element(0, fmt::format("plane + (is_inside ? {} * {} + {} : 0)", row, x[3], column)));
    code.line("sum += part;");
    code.line("largest = part > largest ? part : largest;");
    code.close();
  }
  code.close();
  code.close();
  code.line("const double value = {};", is_max ? "count > 0 ? largest : 0" : "sum / (count > 1 ? count : 1)");
  code.line("w0[i] = put<{}>(static_cast<real>(value));", to.type());
}

void write_rotary_embedding(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const bool is_interleaved = to.integers()[0] != 0, has_positions = to.integers()[3] != 0;
  const std::int64_t turned = to.integers()[1], heads = to.integers()[2], half = turned / 2;
  const std::int64_t size = heads > 0 ? x[2] / heads : x[3], length = heads > 0 ? x[1] : x[2];
  Code& code = to.code();
  code.line("const whole at = i % {};", size);
  code.line("if (at >= {}) {{ w0[i] = {}; return; }}", turned, to.element(0, "i"));
  // The batch and the place in the sequence.
  if (heads > 0)
    code.line("const whole line = i / {};", x[2]);
  else
    code.line("const whole line = i / {} * {} + i / {} % {};", x[1] * length * size, length, size, length);
  if (has_positions) {
    to.index("position", to.element(3, "line"), to.extents(1)[0]);
    code.line("const whole angles = position * {};", half);
  } else {
    code.line("const whole angles = line * {};", half);
  }
  code.line("const whole pair = {};",
            is_interleaved ? std::string("at / 2") : fmt::format("at < {0} ? at : at - {0}", half));
  code.line("const bool is_first = {};", is_interleaved ? std::string("at % 2 == 0") : fmt::format("at < {}", half));
  code.line("const whole other = i + (is_first ? {0} : -{0});", is_interleaved ? 1 : half);
  code.line("const real cosine = get({}), sine = get({});", to.element(1, "angles + pair"),
            to.element(2, "angles + pair"));
  code.line("const real x = get({}), y = get({});", to.element(0, "i"), to.element(0, "other"));
  code.line("w0[i] = put<{}>(is_first ? cosine * x - sine * y : sine * y + cosine * x);", to.type());
}

}  // namespace taso::gpu::kernels
