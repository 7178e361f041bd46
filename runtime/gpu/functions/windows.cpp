// LpPool, Col2Im and Det: see cost/functions/window_function.cpp for their integers.
#include "runtime/gpu/functions/place_writer.h"

namespace taso::gpu::kernels {

void write_lp_pool(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const std::size_t rank = x.size() - 2;
  const std::int64_t norm = to.integers()[0];
  Code& code = to.code();
  to.indices("i", "i", to.result());
  code.line("double sum = 0;");
  std::string from = fmt::format("i0 * {} + i1", x[1]);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t* const window = to.integers().data() + 1 + 4 * axis;
    code.open("for (int k{0} = 0; k{0} < {1}; ++k{0})", axis, window[0]);
    code.line("const whole p{0} = i{1} * {2} + k{0} * {3} - {4};", axis, 2 + axis, window[1], window[2], window[3]);
    code.line("if (p{0} < 0 || p{0} >= {1}) continue;", axis, x[2 + axis]);
    from = fmt::format("({}) * {} + p{}", from, x[2 + axis], axis);
  }
  code.line("const double x = fabs(static_cast<double>(get({})));", to.element(0, from));
  code.line("sum += {};", norm == 1 ? "x" : norm == 2 ? "x * x" : fmt::format("pow(x, {}.0)", norm));
  for (std::size_t axis = 0; axis < rank; ++axis) code.close();
  code.line("w0[i] = put<{}>(static_cast<real>({}));", to.type(),
            norm == 1   ? "sum"
            : norm == 2 ? "sqrt(sum)"
                        : fmt::format("pow(sum, 1 / {}.0)", norm));
}

void write_column_to_image(PlaceWriter& to) {
  const Extents& result = to.result();
  const std::size_t rank = result.size() - 2;
  Code& code = to.code();
  to.indices("i", "i", result);
  code.line("real sum = 0;");
  // Blocks that contain the place: those whose distance to it is a place of the block.
  std::string row = fmt::format("i0 * {} + i1", result[1]), column = "0";
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t* const block = to.integers().data() + 5 * axis;
    code.open("for (int k{0} = 0; k{0} < {1}; ++k{0})", axis, block[0]);
    code.line("const whole d{0} = i{1} + {2} - k{0} * {3}, p{0} = d{0} / {4};", axis, 2 + axis, block[3], block[2],
              block[1]);
    code.line("if (d{0} < 0 || d{0} % {1} != 0 || p{0} >= {2}) continue;", axis, block[1], block[4]);
    row = fmt::format("({}) * {} + k{}", row, block[0], axis);
    column = fmt::format("({}) * {} + p{}", column, block[4], axis);
  }
  code.line("sum += get({});", to.element(0, fmt::format("({}) * {} + {}", row, to.extents(0)[2], column)));
  for (std::size_t axis = 0; axis < rank; ++axis) code.close();
  code.line("w0[i] = put<{}>(sum);", to.type());
}

void write_determinant(PlaceWriter& to) {
  const std::int64_t n = to.integers()[0];
  Code& code = to.code();
  code.line("double a[{}], result = 1;", n * n);
  code.line("for (int k = 0; k < {0}; ++k) a[k] = static_cast<double>(get({1}));", n * n,
            to.element(0, fmt::format("i * {} + k", n * n)));
  code.open("for (int k = 0; k < {}; ++k)", n);
  code.line("int pivot = k;");
  code.line("for (int r = k + 1; r < {0}; ++r) if (fabs(a[r * {0} + k]) > fabs(a[pivot * {0} + k])) pivot = r;", n);
  code.line("if (a[pivot * {} + k] == 0) {{ result = 0; break; }}", n);
  code.open("if (pivot != k)");
  code.line("result = -result;");
  code.open("for (int c = 0; c < {}; ++c)", n);
  code.line("const double other = a[k * {} + c];", n);
  code.line("a[k * {0} + c] = a[pivot * {0} + c];", n);
  code.line("a[pivot * {} + c] = other;", n);
  code.close();
  code.close();
  code.line("result *= a[k * {} + k];", n);
  code.open("for (int r = k + 1; r < {}; ++r)", n);
  code.line("const double factor = a[r * {0} + k] / a[k * {0} + k];", n);
  code.line("for (int c = k; c < {0}; ++c) a[r * {0} + c] -= factor * a[k * {0} + c];", n);
  code.close();
  code.close();
  code.line("w0[i] = put<{}>(static_cast<real>(result));", to.type());
}

}  // namespace taso::gpu::kernels
