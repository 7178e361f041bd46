// Comparisons, booleans, bits, selection and conversions.
#include <cmath>
#include <cstring>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

Array reinterpreted(const Array& array, ElementType type) {
  Array result(type, array.extents());
  std::memcpy(result.mutable_data(), array.data(), array.bytes());
  return result;
}

std::vector<Array> cast(const HostCall& call) {
  return {call.input(0).cast(type_coded(call, call.attributes.integer("to", 0)))};
}

std::vector<Array> cast_like(const HostCall& call) { return {call.input(0).cast(call.input(1).type())}; }

std::vector<Array> bit_cast(const HostCall& call) {
  const ElementType to = type_coded(call, call.attributes.integer("to", 0));
  const Array& in = call.input(0);
  require(call, size_of(to) == size_of(in.type()), "takes types of the same width");
  if (to != ElementType::boolean) return {reinterpreted(in, to)};
  // Bits other than 0 and 1 are not a valid boolean.
  return {in.cast(ElementType::boolean)};
}

// Selects elements by size only, whatever their type.
template <class Word>
void choose(const Array& condition, const Array& yes, const Array& no, Array& result) {
  const auto* const choice = reinterpret_cast<const unsigned char*>(condition.data());
  const auto* const left = reinterpret_cast<const Word*>(yes.data());
  const auto* const right = reinterpret_cast<const Word*>(no.data());
  auto* const to = reinterpret_cast<Word*>(result.mutable_data());
  const Extents& extents = result.extents();
  for_each_row<4>(extents,
                  {strides_of(extents), broadcast_strides(condition.extents(), extents),
                   broadcast_strides(yes.extents(), extents), broadcast_strides(no.extents(), extents)},
                  [&](const auto& at, const auto& step, std::int64_t count) {
                    for (std::int64_t i = 0; i < count; ++i) {
                      const Word* const from =
                          choice[at[1] + i * step[1]] != 0 ? left + at[2] + i * step[2] : right + at[3] + i * step[3];
                      std::memcpy(to + at[0] + i * step[0], from, sizeof(Word));
                    }
                  });
}

std::vector<Array> where(const HostCall& call) {
  require(call, call.inputs.size() == 3, "takes three operands");
  const Array &condition = call.input(0), &yes = call.input(1), &no = call.input(2);
  require(call, condition.type() == ElementType::boolean, "takes a boolean condition");
  require_same_type(call, 1, 3);
  Array result(yes.type(), broadcast_operands(call));
  switch (size_of(yes.type())) {
    case 1: choose<std::uint8_t>(condition, yes, no, result); break;
    case 2: choose<std::uint16_t>(condition, yes, no, result); break;
    case 4: choose<std::uint32_t>(condition, yes, no, result); break;
    default: choose<std::uint64_t>(condition, yes, no, result); break;
  }
  return {std::move(result)};
}

template <class Compare>
std::vector<Array> compare(const HostCall& call) {
  require_same_type(call, 0, 2);
  return through_float(call, [](const HostCall& wide) -> std::vector<Array> {
    const Array &a = wide.input(0), &b = wide.input(1);
    if (a.type() == ElementType::boolean) return {zip<bool, bool, bool>(a, b, Compare{})};
    return with_number(wide, a.type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {zip<bool, T, T>(a, b, Compare{})};
    });
  });
}

struct Xor {
  bool operator()(bool a, bool b) const { return a != b; }
};

template <class Combine>
std::vector<Array> combine(const HostCall& call) {
  const Array &a = call.input(0), &b = call.input(1);
  require(call, a.type() == ElementType::boolean && b.type() == ElementType::boolean, "takes boolean operands");
  return {zip<bool, bool, bool>(a, b, Combine{})};
}

std::vector<Array> negate(const HostCall& call) {
  require(call, call.input(0).type() == ElementType::boolean, "takes a boolean operand");
  return {map<bool, bool>(call.input(0), std::logical_not<>{})};
}

template <class Combine>
std::vector<Array> bitwise(const HostCall& call) {
  require_same_type(call, 0, 2);
  return with_integer(call, call.input(0).type(), [&](auto tag) -> std::vector<Array> {
    using T = decltype(tag);
    return {zip<T, T, T>(call.input(0), call.input(1), [](T a, T b) { return static_cast<T>(Combine{}(a, b)); })};
  });
}

std::vector<Array> bitwise_not(const HostCall& call) {
  return with_integer(call, call.input(0).type(), [&](auto tag) -> std::vector<Array> {
    using T = decltype(tag);
    return {map<T, T>(call.input(0), [](T a) { return static_cast<T>(~a); })};
  });
}

std::vector<Array> bit_shift(const HostCall& call) {
  require_same_type(call, 0, 2);
  const std::string direction = call.attributes.text("direction", "");
  require(call, direction == "LEFT" || direction == "RIGHT", "shifts LEFT or RIGHT");
  const bool left = direction == "LEFT";
  return with_integer(call, call.input(0).type(), [&](auto tag) -> std::vector<Array> {
    using T = decltype(tag);
    return {zip<T, T, T>(call.input(0), call.input(1), [left](T value, T places) {
      constexpr std::uint64_t width = 8 * sizeof(T);
      const auto distance = static_cast<std::uint64_t>(places);  // a negative one exceeds every width
      if (left) return distance < width ? static_cast<T>(static_cast<std::uint64_t>(value) << distance) : T{0};
      return static_cast<T>(value >> (distance < width ? distance : width - 1) >> (distance < width ? 0 : 1));
    })};
  });
}

std::vector<Array> is_nan(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {map<bool, T>(wide.input(0), [](T x) { return x != x; })};
    });
  });
}

std::vector<Array> is_infinite(const HostCall& call) {
  const bool negative = call.attributes.integer("detect_negative", 1) != 0;
  const bool positive = call.attributes.integer("detect_positive", 1) != 0;
  return through_float(call, [&](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {map<bool, T>(wide.input(0), [&](T x) { return std::isinf(x) && (x > 0 ? positive : negative); })};
    });
  });
}

}  // namespace

Family logic() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"And", combine<std::logical_and<>>},
      {"BitCast", bit_cast},
      {"BitShift", bit_shift},
      {"BitwiseAnd", bitwise<std::bit_and<>>},
      {"BitwiseNot", bitwise_not},
      {"BitwiseOr", bitwise<std::bit_or<>>},
      {"BitwiseXor", bitwise<std::bit_xor<>>},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Equal", compare<std::equal_to<>>},
      {"Greater", compare<std::greater<>>},
      {"GreaterOrEqual", compare<std::greater_equal<>>},
      {"IsInf", is_infinite},
      {"IsNaN", is_nan},
      {"Less", compare<std::less<>>},
      {"LessOrEqual", compare<std::less_equal<>>},
      {"Not", negate},
      {"Or", combine<std::logical_or<>>},
      {"Where", where},
      {"Xor", combine<Xor>},
  };
  return functions;
}

}  // namespace taso::runtime
