#include "runtime/gpu/kernels/plain_function.h"

#include "ops/core/error.h"

namespace taso::gpu::kernels {
namespace {

using Kind = PlainFunction::Kind;

/// Rounds half to even and clamps to the range of the type; NaN becomes 0.
constexpr std::string_view quantising = R"(template <class T>
__device__ inline T quantised(float quotient, float zero, float least, float most) {
  const float x = rintf(quotient) + zero;
  return x != x ? T(0) : x < least ? static_cast<T>(least) : x > most ? static_cast<T>(most) : static_cast<T>(x);
}
)";
/// Subtracts as integers, because 32-bit integers do not fit into a float.
constexpr std::string_view dequantising = R"(template <class T>
__device__ inline float moved(T x, T zero) { return static_cast<float>(static_cast<long long>(x) - static_cast<long long>(zero)); }
template <>
__device__ inline float moved(signed char x, signed char zero) { return static_cast<float>(x - zero); }
template <>
__device__ inline float moved(unsigned char x, unsigned char zero) { return static_cast<float>(x - zero); }
)";

/// The least and the greatest number of a type.
std::string bounds(ElementType element) {
  switch (element) {
    case ElementType::int8: return "-128.0f, 127.0f";
    case ElementType::uint8: return "0.0f, 255.0f";
    case ElementType::int16: return "-32768.0f, 32767.0f";
    case ElementType::uint16: return "0.0f, 65535.0f";
    default: break;
  }
  check(false, "numbers are quantised to 8 or 16 bits");
  return {};
}

}  // namespace

AxisMap operand_axes(const PlainFunction& function, std::size_t operand, const Extents& extents, const Extents& space) {
  const bool is_scale = operand > 0 && (function.kind == Kind::quantise || function.kind == Kind::dequantise);
  if (!is_scale) return aligned(extents, space);
  if (ops::count(extents) == 1) return AxisMap(extents.size(), -1);
  check(extents.size() == 1, "there is one scale for each slice of the axis");
  return {static_cast<int>(function.axis)};
}

std::string_view plain_definitions(const PlainFunction& function) {
  switch (function.kind) {
    case Kind::quantise: return quantising;
    case Kind::dequantise: return dequantising;
    default: return "";
  }
}

std::string expression(const PlainFunction& function, const std::vector<std::string>& operands, ElementType result) {
  const auto compared = [&](std::string_view sign) {
    return fmt::format("get({}) {} get({})", operands.at(0), sign, operands.at(1));
  };
  const std::string_view type = type_text(result);
  switch (function.kind) {
    case Kind::equal: return compared("==");
    case Kind::less: return compared("<");
    case Kind::less_or_equal: return compared("<=");
    case Kind::greater: return compared(">");
    case Kind::greater_or_equal: return compared(">=");
    case Kind::both: return fmt::format("{} && {}", operands.at(0), operands.at(1));
    case Kind::either: return fmt::format("{} || {}", operands.at(0), operands.at(1));
    case Kind::one_of_two: return fmt::format("{} != {}", operands.at(0), operands.at(1));
    case Kind::negate: return fmt::format("!{}", operands.at(0));
    case Kind::choose: return fmt::format("{} ? {} : {}", operands.at(0), operands.at(1), operands.at(2));
    case Kind::quantise:
      return fmt::format("quantised<{}>(get({}) / get({}), {}, {})", type, operands.at(0), operands.at(1),
                         operands.size() > 2 ? fmt::format("get({})", operands[2]) : "0.0f", bounds(result));
    case Kind::dequantise: {
      const std::string x = operands.size() > 2 ? fmt::format("moved({}, {})", operands[0], operands[2])
                                                : fmt::format("static_cast<float>({})", operands.at(0));
      return fmt::format("put<{}>({} * get({}))", type, x, operands.at(1));
    }
  }
  check(false, "every plain function has an expression");
  return {};
}

}  // namespace taso::gpu::kernels
