// Products of quantised numbers, an element of the result per thread; and numbers quantised by their range.
// cost/functions/quantised_function.cpp says in which order the operands come.
#include "ops/core/error.h"
#include "runtime/gpu/functions/formula_text.h"
#include "runtime/gpu/functions/place_writer.h"
#include "runtime/gpu/functions/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// The number for a row, column or channel; `otherwise` if the operand is omitted.
std::string parameter(const PlaceWriter& to, std::size_t operand, const std::string& index,
                      std::string_view otherwise = "0") {
  if (!to.has(operand)) return std::string(otherwise);
  return to.element(operand, ops::count(to.extents(operand)) == 1 ? "0" : index);
}

void write_products(PlaceWriter& to, const std::string& a, const std::string& b) {
  to.code().line("sum += (static_cast<int>({}) - left_zero) * (static_cast<int>({}) - right_zero);", to.element(0, a),
                 to.element(1, b));
}

void write_zeros(PlaceWriter& to, const std::string& row, const std::string& column) {
  to.code().line("const int left_zero = {}, right_zero = {};", parameter(to, 2, row), parameter(to, 3, column));
  to.code().line("int sum = 0;");
}

std::string byte_bounds(ElementType element) { return element == ElementType::int8 ? "-128, 127" : "0, 255"; }

}  // namespace

namespace kernels {

void write_integer_matmul(PlaceWriter& to) {
  const Extents &a = to.extents(0), &b = to.extents(1), &result = to.result();
  const std::size_t rank = result.size();
  const std::int64_t depth = a.back();
  to.indices("i", "i", result);
  const std::string row = fmt::format("i{}", rank - 2), column = fmt::format("i{}", rank - 1);
  // The place of the matrix among those of a factor, where it may be repeated.
  const auto matrix = [&](const Extents& factor) {
    std::string text = "0";
    const std::size_t more = rank - factor.size();
    for (std::size_t i = 0; i + 2 < factor.size(); ++i)
      text = fmt::format("({}) * {} + {}", text, factor[i],
                         factor[i] == 1 ? std::string("0") : fmt::format("i{}", more + i));
    return text;
  };
  Code& code = to.code();
  code.line("const whole left = (({}) * {} + {}) * {};", matrix(a), a[a.size() - 2], row, depth);
  code.line("const whole right = ({}) * {} + {};", matrix(b), depth * b.back(), column);
  write_zeros(to, row, column);
  code.add("#pragma unroll 8");
  code.open("for (int k = 0; k < {}; ++k)", depth);
  write_products(to, "left + k", fmt::format("right + k * {}", b.back()));
  code.close();
  if (to.operands() == 4) return code.line("w0[i] = sum;");
  code.line("const float factor = get({}) * get({}) / get({});", parameter(to, 4, row), parameter(to, 5, column),
            to.element(6, "0"));
  code.line("w0[i] = quantised<{}>(static_cast<float>(sum) * factor, static_cast<float>({}), {});", to.type(),
            to.element(7, "0"), byte_bounds(to.call().written[0].element));
}

void write_integer_convolution(PlaceWriter& to) {
  const Extents &x = to.extents(0), &w = to.extents(1), &result = to.result();
  const std::size_t rank = x.size() - 2;
  const std::int64_t groups = to.integers()[0];
  Code& code = to.code();
  to.indices("i", "i", result);
  write_zeros(to, "0", "i1");
  code.line("const whole first = i1 / {} * {};", result[1] / groups, w[1]);
  code.open("for (int c = 0; c < {}; ++c)", w[1]);
  std::string from = fmt::format("i0 * {} + first + c", x[1]), by = fmt::format("i1 * {} + c", w[1]);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t stride = to.integers()[1 + 3 * axis], dilation = to.integers()[2 + 3 * axis],
                       pad = to.integers()[3 + 3 * axis];
    code.open("for (int k{0} = 0; k{0} < {1}; ++k{0})", axis, w[2 + axis]);
    code.line("const whole p{0} = i{1} * {2} + k{0} * {3} - {4};", axis, 2 + axis, stride, dilation, pad);
    code.line("if (p{0} < 0 || p{0} >= {1}) continue;", axis, x[2 + axis]);
    from = fmt::format("({}) * {} + p{}", from, x[2 + axis], axis);
    by = fmt::format("({}) * {} + k{}", by, w[2 + axis], axis);
  }
  write_products(to, from, by);
  for (std::size_t axis = 0; axis <= rank; ++axis) code.close();
  if (to.operands() == 4) return code.line("w0[i] = sum;");
  if (to.has(8)) code.line("sum += {};", to.element(8, "i1"));
  code.line(
      "const double factor = static_cast<double>(get({})) * static_cast<double>(get({})) / "
      "static_cast<double>(get({}));",
      to.element(4, "0"), parameter(to, 5, "i1"), to.element(6, "0"));
  code.line("const double y = rint(static_cast<double>(sum) * factor) + static_cast<double>({});", to.element(7, "0"));
  const bool is_signed = to.call().written[0].element == ElementType::int8;
  code.line("w0[i] = static_cast<{0}>(y != y ? 0 : y < {1} ? {1} : y > {2} ? {2} : y);", to.type(),
            is_signed ? -128 : 0, is_signed ? 127 : 255);
}

}  // namespace kernels

std::vector<SourceLaunch> dynamic_quantisation_sources(const cost::Call& call) {
  check(call.written.size() == 3, "numbers quantised by their range have scale and zero point");
  const std::int64_t elements = ops::count(call.read[0].extents);
  constexpr std::int64_t threads = 1024;
  SourceLaunch launch;
  launch.name = "range";
  launch.block = threads;
  Parameters parameters;
  parameters.add(call, false, 0);
  parameters.add(call, true, 1);
  parameters.add(call, true, 2);
  Code code;
  open_kernel(code, launch, parameters);
  code.line("__shared__ float lows[32], highs[32];");
  write_waiting(code);
  code.line("float low = 0, high = 0;");  // zero is always representable
  code.add("#pragma unroll 8");
  code.open("for (long long k = threadIdx.x; k < {}ll; k += {})", elements, threads);
  // NaN is passed over, as on the host.
  code.line("const real x = get(r0[k]);");
  code.line("low = x < low ? x : low;");
  code.line("high = x > high ? x : high;");
  code.close();
  code.open("for (int with = 16; with > 0; with /= 2)");
  code.line("low = minimum(low, __shfl_xor_sync(0xffffffffu, low, with));");
  code.line("high = maximum(high, __shfl_xor_sync(0xffffffffu, high, with));");
  code.close();
  code.open("if (threadIdx.x % 32 == 0)");
  code.line("lows[threadIdx.x / 32] = low;");
  code.line("highs[threadIdx.x / 32] = high;");
  code.close();
  code.line("__syncthreads();");
  code.line("if (threadIdx.x != 0) return;");
  code.open("for (int k = 1; k < {}; ++k)", threads / 32);
  code.line("low = minimum(low, lows[k]);");
  code.line("high = maximum(high, highs[k]);");
  code.close();
  code.line("const float scale = (high == low ? 1.0f : high - low) / 255.0f;");
  code.line("const float zero = -low / scale;");
  code.line("w1[0] = put<{}>(scale);", type_text(call.written[1].element));
  code.line("w2[0] = quantised<unsigned char>(zero < 0 ? 0.0f : zero > 255 ? 255.0f : zero, 0.0f, 0.0f, 255.0f);");
  code.close();
  launch.source = prelude(arithmetic_of(call)) + definitions_for(code.text(), arithmetic_of(call)) + code.text();

  PlaceWriter to(call, "quantised_by_range", elements, 3);
  to.code().line("w0[i] = quantised<unsigned char>(get({}) / get(w1[0]), static_cast<float>(w2[0]), 0.0f, 255.0f);",
                 to.element(0, "i"));
  std::vector<SourceLaunch> launches;
  launches.push_back(std::move(launch));
  launches.push_back(to.finish());
  return launches;
}

}  // namespace taso::gpu
