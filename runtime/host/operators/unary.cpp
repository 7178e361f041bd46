// Functions of one number: signs, rounding, exponentials, trigonometry.
#include <cmath>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

// One function of floating-point elements; the half types go through float.
template <auto function>
std::vector<Array> floating(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {map<T, T>(wide.input(0), [](T x) { return function(x); })};
    });
  });
}

// One function of floating-point or integer elements.
template <auto function>
std::vector<Array> numeric(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    return with_number(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {map<T, T>(wide.input(0), [](T x) { return static_cast<T>(function(x)); })};
    });
  });
}

constexpr auto absolute = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else
    return x < T{0} ? wrapping_subtract(T{0}, x) : x;
};
constexpr auto negative = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_floating_point_v<T>)
    return -x;
  else
    return wrapping_subtract(T{0}, x);
};
constexpr auto signum = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_floating_point_v<T>)
    if (x != x) return x;
  return static_cast<T>((x > T{0}) - (x < T{0}));
};
constexpr auto relu = [](auto x) { return larger(x, decltype(x){0}); };
constexpr auto error_function = [](auto x) {
  if constexpr (std::is_floating_point_v<decltype(x)>)
    return std::erf(x);
  else
    return std::erf(static_cast<double>(x));  // between -1 and 1, so every integer type can hold the truncated value
};

#define TASO_FUNCTION(name, expression) \
  constexpr auto name = [](auto x) { return static_cast<decltype(x)>(expression); }
TASO_FUNCTION(floor_of, std::floor(x));
TASO_FUNCTION(ceil_of, std::ceil(x));
TASO_FUNCTION(round_half_even, std::nearbyint(x));
TASO_FUNCTION(logarithm, std::log(x));
TASO_FUNCTION(exponential, std::exp(x));
TASO_FUNCTION(square_root, std::sqrt(x));
TASO_FUNCTION(reciprocal, 1 / x);
TASO_FUNCTION(sine, std::sin(x));
TASO_FUNCTION(cosine, std::cos(x));
TASO_FUNCTION(tangent, std::tan(x));
TASO_FUNCTION(arc_sine, std::asin(x));
TASO_FUNCTION(arc_cosine, std::acos(x));
TASO_FUNCTION(arc_tangent, std::atan(x));
TASO_FUNCTION(hyperbolic_sine, std::sinh(x));
TASO_FUNCTION(hyperbolic_cosine, std::cosh(x));
TASO_FUNCTION(hyperbolic_tangent, std::tanh(x));
TASO_FUNCTION(area_sine, std::asinh(x));
TASO_FUNCTION(area_cosine, std::acosh(x));
TASO_FUNCTION(area_tangent, std::atanh(x));
TASO_FUNCTION(softplus, larger(x, decltype(x){0}) + std::log1p(std::exp(-std::abs(x))));
TASO_FUNCTION(softsign, x / (1 + std::abs(x)));
TASO_FUNCTION(sigmoid, x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)));
TASO_FUNCTION(mish, x* std::tanh(softplus(x)));
TASO_FUNCTION(hard_swish, x* larger(decltype(x){0}, smaller(decltype(x){1}, x / 6 + decltype(x){0.5})));
#undef TASO_FUNCTION

}  // namespace

Family unary() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Abs", numeric<absolute>},
      {"Acos", floating<arc_cosine>},
      {"Acosh", floating<area_cosine>},
      {"Asin", floating<arc_sine>},
      {"Asinh", floating<area_sine>},
      {"Atan", floating<arc_tangent>},
      {"Atanh", floating<area_tangent>},
      {"Ceil", floating<ceil_of>},
      {"Cos", floating<cosine>},
      {"Cosh", floating<hyperbolic_cosine>},
      {"Erf", numeric<error_function>},
      {"Exp", floating<exponential>},
      {"Floor", floating<floor_of>},
      {"HardSwish", floating<hard_swish>},
      {"Log", floating<logarithm>},
      {"Mish", floating<mish>},
      {"Neg", numeric<negative>},
      {"Reciprocal", floating<reciprocal>},
      {"Relu", numeric<relu>},
      {"Round", floating<round_half_even>},
      {"Sigmoid", floating<sigmoid>},
      {"Sign", numeric<signum>},
      {"Sin", floating<sine>},
      {"Sinh", floating<hyperbolic_sine>},
      {"Softplus", floating<softplus>},
      {"Softsign", floating<softsign>},
      {"Sqrt", floating<square_root>},
      {"Tan", floating<tangent>},
      {"Tanh", floating<hyperbolic_tangent>},
  };
  return functions;
}

}  // namespace taso::runtime
