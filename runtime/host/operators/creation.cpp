// Tensors created from a shape or a few numbers.
#include <algorithm>
#include <cmath>

#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

Arrays constant_of_shape(const HostCall& call) {
  const Array value = call.attributes.array("value").value_or(Array::scalar<float>(0));
  require(call, value.size() == 1 && size_of(value.type()) > 0, "value must be one element");
  Array result = make_array(call, value.type(), integers_of(call, 0));
  fill(result.mutable_data(), value.data(), unsign(result.size()), size_of(value.type()));
  return {std::move(result)};
}

/// The number of steps of `delta` between start and limit, rounded up.
template <class T>
std::int64_t steps_between(const HostCall& call, T start, T limit, T delta) {
  require(call, delta != T{}, "delta is 0");
  if constexpr (std::is_floating_point_v<T>) {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    require(call, count <= static_cast<double>(most_elements), "too many elements, or not a number");
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  } else {
    if (delta > T{} ? limit <= start : limit >= start) return 0;
    // In unsigned arithmetic, where differences do not overflow.
    const auto low = static_cast<std::uint64_t>(delta > T{} ? start : limit);
    const auto high = static_cast<std::uint64_t>(delta > T{} ? limit : start);
    const auto step =
        delta > T{} ? static_cast<std::uint64_t>(delta) : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
    const std::uint64_t count = (high - low - 1) / step + 1;
    require(call, count <= static_cast<std::uint64_t>(most_elements), "too many elements");
    return static_cast<std::int64_t>(count);
  }
}

Arrays range(const HostCall& call) {
  const ElementType type = call.input(0).type();
  for (std::size_t i = 0; i < 3; ++i) {
    require_type(call, i, type);
    require(call, call.input(i).size() == 1, "start, limit and delta must be one number each");
  }
  require(call, is_floating(type) || is_integer(type), "the operands must be numbers");
  Array result;
  with_element_type(computing_type(type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const T start = values_as<T>(call.input(0))[0], limit = values_as<T>(call.input(1))[0];
      const T delta = values_as<T>(call.input(2))[0];
      result = make_array(call, element_type_of<T>, {steps_between(call, start, limit, delta)});
      const auto out = result.template mutable_values<T>();
      for (std::size_t i = 0; i < out.size(); ++i) {
        if constexpr (std::is_floating_point_v<T>)
          out[i] = start + static_cast<T>(i) * delta;
        else
          out[i] = static_cast<T>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(delta));
      }
    }
  });
  return {result.cast(type)};
}

Arrays eye_like(const HostCall& call) {
  require_rank(call, 0, 2);
  const Extents& extents = call.input(0).extents();
  ElementType type = call.input(0).type();
  if (call.attributes.has("dtype")) type = type_coded(call, call.attributes.integer("dtype", 0));
  const Array one = Array::scalar<std::int64_t>(1).cast(type);
  const std::int64_t k = std::clamp(call.attributes.integer("k", 0), -extents[0] - 1, extents[1] + 1);
  Array result = make_zeros(call, type, extents);
  const std::size_t size = size_of(type);
  std::byte* to = result.mutable_data();
  for (std::int64_t row = std::max<std::int64_t>(0, -k); row < std::min(extents[0], extents[1] - k); ++row)
    std::memcpy(to + unsign(row * extents[1] + row + k) * size, one.data(), size);
  return {std::move(result)};
}

}  // namespace

Family creation() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"ConstantOfShape", constant_of_shape},
      {"Range", range},
      {"EyeLike", eye_like},
  };
  return functions;
}

}  // namespace taso::runtime
