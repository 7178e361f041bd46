#include "runtime/gpu/functions/formula_text.h"

#include <cctype>

#include "cost/functions/formula.h"
#include "ops/core/error.h"

namespace taso::gpu::kernels {
namespace {

using cost::Signature;

struct Definition {
  std::string_view name, floating, whole;
};

/// Integers wrap around, and division by 0 gives 0, as on the host.
constexpr Definition known_definitions[] = {
    // Rounds half to even and clamps to the range of the type; NaN becomes 0.
    {"quantised", R"(template <class T>
__device__ inline T quantised(float quotient, float zero, float least, float most) {
  const float x = rintf(quotient) + zero;
  return x != x ? T(0) : x < least ? static_cast<T>(least) : x > most ? static_cast<T>(most) : static_cast<T>(x);
}
)",
     ""},
    // Subtracts as integers, because 32-bit integers do not fit into a float.
    {"moved", R"(template <class T>
__device__ inline float moved(T x, T zero) {
  return static_cast<float>(static_cast<long long>(x) - static_cast<long long>(zero));
}
template <>
__device__ inline float moved(signed char x, signed char zero) { return static_cast<float>(x - zero); }
template <>
__device__ inline float moved(unsigned char x, unsigned char zero) { return static_cast<float>(x - zero); }
)",
     ""},
    {"remainder(", R"(__device__ inline float remainder_of(float a, float b) { return fmodf(a, b); }
__device__ inline double remainder_of(double a, double b) { return fmod(a, b); }
__device__ inline real floored_remainder(real a, real b) {
  const real r = remainder_of(a, b);
  if (r == 0) return b < 0 ? -real(0) : real(0);
  return (r < 0) != (b < 0) ? r + b : r;
}
)",
     R"(__device__ inline real truncated_remainder(real a, real b) {
  return b == 0 || (b == static_cast<real>(-1) && b < 1) ? real(0) : a % b;
}
__device__ inline real floored_remainder(real a, real b) {
  const real r = truncated_remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"whole_power", "", R"(__device__ inline real whole_power(real a, real b) {
  if (b < 1 && b != 0) return a == 1 ? 1 : a == static_cast<real>(-1) ? (b % 2 == 0 ? 1 : a) : 0;
  real result = 1;
  for (unsigned long long n = static_cast<unsigned long long>(b); n != 0; n >>= 1, a = times(a, a))
    if (n & 1) result = times(result, a);
  return result;
}
)"},
    {"added(", "__device__ inline real added(real a, real b) { return a + b; }\n",
     "__device__ inline real added(real a, real b) { return plus(a, b); }\n"},
    {"multiplied(", "__device__ inline real multiplied(real a, real b) { return a * b; }\n",
     "__device__ inline real multiplied(real a, real b) { return times(a, b); }\n"},
    {"magnitude(", "__device__ inline real magnitude(real a) { return a < 0 ? -a : a; }\n",
     "__device__ inline real magnitude(real a) { return a < 0 ? minus(0, a) : a; }\n"},
};

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

bool is_quantising(const cost::DeviceFunction& function) {
  return function.name == "QuantizeLinear" || function.name == "DequantizeLinear";
}

std::string quantising(const cost::DeviceFunction& function, const std::vector<std::string>& operands,
                       ElementType result) {
  const std::string_view type = type_text(result);
  if (function.name == "QuantizeLinear")
    return fmt::format("quantised<{}>(get({}) / get({}), {}, {})", type, operands.at(0), operands.at(1),
                       operands.size() > 2 ? fmt::format("get({})", operands[2]) : "0.0f", bounds(result));
  const std::string x = operands.size() > 2 ? fmt::format("moved({}, {})", operands[0], operands[2])
                                            : fmt::format("static_cast<float>({})", operands.at(0));
  return fmt::format("put<{}>({} * get({}))", type, x, operands.at(1));
}

}  // namespace

std::string text_of(std::string_view formula, const FormulaTexts& texts, Arithmetic arithmetic) {
  std::string text;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const char c = formula[i];
    const auto index = [&] { return static_cast<std::size_t>(formula[++i] - '0'); };
    if (c == '$') {
      text += texts.numbers.at(index());
    } else if (c == '%' && i + 1 < formula.size() && std::isdigit(static_cast<unsigned char>(formula[i + 1])) != 0) {
      text += texts.stored.at(index());
    } else if (c == '#') {
      text += number(texts.attributes.at(index()), arithmetic);
    } else if (c == '@') {
      while (i + 1 < formula.size() && std::isalnum(static_cast<unsigned char>(formula[i + 1])) != 0)
        text += formula[++i];
      if (arithmetic == Arithmetic::single) text += 'f';
    } else {
      text += c;
    }
  }
  return text;
}

std::string definitions_for(std::string_view text, Arithmetic arithmetic) {
  std::string found;
  for (const Definition& definition : known_definitions)
    if (text.find(definition.name) != std::string_view::npos)
      found += is_integral(arithmetic) ? definition.whole : definition.floating;
  return found;
}

AxisMap operand_axes(const cost::DeviceFunction& function, std::size_t operand, const Extents& extents,
                     const Extents& space) {
  if (operand == 0 || !is_quantising(function)) return aligned(extents, space);
  if (ops::count(extents) == 1) return AxisMap(extents.size(), -1);
  check(extents.size() == 1, "there is one scale for each slice of the axis");
  return {static_cast<int>(function.integers.at(0))};
}

std::string expression(const cost::DeviceFunction& function, const std::vector<std::string>& operands,
                       ElementType result, Arithmetic arithmetic) {
  if (is_quantising(function)) return quantising(function, operands, result);
  const cost::ElementFormula* const formula = cost::find_element_formula(function.name);
  check(formula != nullptr, "every element function has a formula");
  const std::string_view text =
      is_integral(arithmetic) && !formula->integers.empty() ? formula->integers : formula->formula;
  FormulaTexts texts{{}, operands, function.numbers};
  for (const std::string& operand : operands) texts.numbers.push_back(fmt::format("get({})", operand));
  std::string made;
  if (formula->operands == 0) {  // combined from left to right
    made = texts.numbers.at(0);
    for (std::size_t i = 1; i < operands.size(); ++i)
      made = text_of(text, {{"(" + made + ")", texts.numbers[i]}, {}, {}}, arithmetic);
    if (function.name == "Mean") made = fmt::format("({}) / {}", made, operands.size());
  } else {
    made = text_of(text, texts, arithmetic);
  }
  switch (formula->signature) {
    case Signature::logical:
    case Signature::test:
    case Signature::compare:
    case Signature::choose: return made;
    default: return fmt::format("put<{}>(static_cast<real>({}))", type_text(result), made);
  }
}

}  // namespace taso::gpu::kernels
