// Arithmetic on two or more operands, with broadcasting. Integers wrap; dividing one by zero gives zero.
#include <cmath>
#include <limits>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

constexpr auto add = [](auto a, auto b) { return wrapping_add(a, b); };
constexpr auto subtract = [](auto a, auto b) { return wrapping_subtract(a, b); };
constexpr auto multiply = [](auto a, auto b) { return wrapping_multiply(a, b); };
constexpr auto maximum = [](auto a, auto b) { return larger(a, b); };
constexpr auto minimum = [](auto a, auto b) { return smaller(a, b); };

constexpr auto divide = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == T{0}) return T{0};
    if constexpr (std::is_signed_v<T>)
      if (b == T{-1}) return wrapping_subtract(T{0}, a);  // the quotient of the smallest number overflows
    return static_cast<T>(a / b);
  }
};

// The remainder of truncated division: it has the sign of the dividend.
constexpr auto truncated_remainder = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T{0}) return T{0};
    if constexpr (std::is_signed_v<T>)
      if (b == T{-1}) return T{0};
    return static_cast<T>(a % b);
  }
};

// The remainder of floored division: it has the sign of the divisor.
constexpr auto floored_remainder = [](auto a, auto b) {
  using T = decltype(a);
  const T remainder = truncated_remainder(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (remainder == T{0}) return std::copysign(T{0}, b);
    return (remainder < T{0}) != (b < T{0}) ? remainder + b : remainder;
  } else {
    return remainder != T{0} && (remainder < T{0}) != (b < T{0}) ? static_cast<T>(remainder + b) : remainder;
  }
};

template <auto function>
std::vector<Array> binary(const HostCall& call) {
  require_same_type(call, 0, 2);
  return through_float(call, [](const HostCall& wide) {
    return with_number(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {zip<T, T, T>(wide.input(0), wide.input(1), [](T a, T b) { return static_cast<T>(function(a, b)); })};
    });
  });
}

std::vector<Array> modulo(const HostCall& call) {
  return call.attributes.integer("fmod", 0) != 0 ? binary<truncated_remainder>(call) : binary<floored_remainder>(call);
}

template <auto function>
std::vector<Array> variadic(const HostCall& call) {
  require(call, !call.inputs.empty(), "takes at least one operand");
  require_same_type(call, 0, call.inputs.size());
  return through_float(call, [](const HostCall& wide) {
    return with_number(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      Array result = wide.input(0);
      for (std::size_t i = 1; i < wide.inputs.size(); ++i)
        result = zip<T, T, T>(result, wide.input(i), [](T a, T b) { return static_cast<T>(function(a, b)); });
      return {std::move(result)};
    });
  });
}

std::vector<Array> mean(const HostCall& call) {
  require(call, !call.inputs.empty(), "takes at least one operand");
  require_same_type(call, 0, call.inputs.size());
  return through_float(call, [](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      Array sum = wide.input(0);
      for (std::size_t i = 1; i < wide.inputs.size(); ++i)
        sum = zip<T, T, T>(sum, wide.input(i), [](T a, T b) { return a + b; });
      const T number = static_cast<T>(wide.inputs.size());
      return {map<T, T>(sum, [number](T x) { return x / number; })};
    });
  });
}

template <class T>
T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {  // a fraction, rounded towards zero; for base zero the result is zero
    if (base == T{1}) return 1;
    if constexpr (std::is_signed_v<T>)
      if (base == T{-1}) return exponent % 2 == 0 ? T{1} : T{-1};
    return 0;
  }
  T power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = wrapping_multiply(power, base);
    base = wrapping_multiply(base, base);
  }
  return power;
}

template <class T>
T saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

// The result has the type of the base, whatever that of the exponent.
Array power_of(const HostCall& call, const Array& base, const Array& exponent) {
  return with_number(call, base.type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      if (is_integer(exponent.type()))
        return zip<T, T, std::int64_t>(base, exponent.cast(ElementType::int64), integer_power<T>);
      return zip<T, T, double>(base, exponent.cast(ElementType::float64),
                               [](T a, double b) { return saturated<T>(std::pow(static_cast<double>(a), b)); });
    } else {
      if (exponent.type() == base.type()) return zip<T, T, T>(base, exponent, [](T a, T b) { return std::pow(a, b); });
      return zip<T, T, double>(base, exponent.cast(ElementType::float64),
                               [](T a, double b) { return static_cast<T>(std::pow(static_cast<double>(a), b)); });
    }
  });
}

std::vector<Array> power(const HostCall& call) {
  const Array &base = call.input(0), &exponent = call.input(1);
  require(call, exponent.type() != ElementType::boolean, "takes a numeric exponent");
  const auto widened = [](const Array& array) {
    return is_half(array.type()) ? array.cast(ElementType::float32) : array;
  };
  return {power_of(call, widened(base), widened(exponent)).cast(base.type())};
}

}  // namespace

Family arithmetic() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Add", binary<add>},       {"Div", binary<divide>}, {"Max", variadic<maximum>}, {"Mean", mean},
      {"Min", variadic<minimum>}, {"Mod", modulo},         {"Mul", binary<multiply>},  {"Pow", power},
      {"Sub", binary<subtract>},  {"Sum", variadic<add>},
  };
  return functions;
}

}  // namespace taso::runtime
