// Quantised numbers: small integers with a scale and a zero point; and products of quantised matrices.
#include <cmath>
#include <limits>

#include "runtime/host/families.h"
#include "runtime/host/matrix_product.h"

namespace taso::runtime {
namespace {

// A scale or zero point in a shape that broadcasts to x: a single one, one per slice of an axis, or one per block of
// it.
Array spread(const HostCall& call, const Array& parameter, const Extents& extents) {
  if (parameter.size() == 1) return parameter.reshaped({});
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", 1), extents.size());
  const std::int64_t block = call.attributes.integer("block_size", 0);
  if (block == 0) {
    require(call, parameter.rank() == 1 && parameter.size() == extents[axis], "takes one scale per slice of its axis");
    Extents shape(extents.size(), 1);
    shape[axis] = extents[axis];
    return parameter.reshaped(shape);
  }
  require(call, block > 0 && parameter.rank() == extents.size(), "takes one scale per block");
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::int64_t blocks = d == axis ? extents[d] / block + (extents[d] % block != 0) : extents[d];
    require(call, parameter.extents()[d] == blocks, "takes one scale per block");
  }
  Array result(parameter.type(), extents);
  const AxisView view(extents, axis);
  const std::int64_t blocks = parameter.extents()[axis];
  with_element_type(parameter.type(), [&](auto tag) {
    using T = decltype(tag);
    const T* const from = parameter.values<T>().data();
    T* to = result.mutable_values<T>().data();
    if (result.size() == 0) return;
    for (std::int64_t o = 0; o < view.outer; ++o)
      for (std::int64_t k = 0; k < view.length; ++k) {
        const T* const line = from + (o * blocks + k / block) * view.inner;
        to = std::copy(line, line + view.inner, to);
      }
  });
  return result;
}

template <class T>
T saturated(float value) {
  if (value != value) return 0;
  constexpr auto least = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto most = static_cast<float>(std::numeric_limits<T>::max());
  return static_cast<T>(std::min(std::max(value, least), most));
}

// x / scale, rounded half to even, plus the zero point, clamped to the type.
Array quantised(const HostCall& call, const Array& quotient, const Array& zero_point) {
  const auto convert = [&](auto tag) {
    using T = decltype(tag);
    return zip<T, float, T>(quotient, zero_point,
                            [](float x, T zero) { return saturated<T>(std::nearbyint(x) + static_cast<float>(zero)); });
  };
  switch (zero_point.type()) {
    case ElementType::int8: return convert(std::int8_t{});
    case ElementType::uint8: return convert(std::uint8_t{});
    case ElementType::int16: return convert(std::int16_t{});
    case ElementType::uint16: return convert(std::uint16_t{});
    default: refuse(call, "makes 8-bit and 16-bit integers");
  }
}

void require_zero_point_like_scale(const HostCall& call, const Array& scale, const Array& zero_point) {
  require(call, zero_point.extents() == scale.extents() || (zero_point.size() == 1 && scale.size() == 1),
          "takes a zero point of the scale's shape");
}

std::vector<Array> quantize_linear(const HostCall& call) {
  const Array &x = call.input(0), &scale = call.input(1);
  require(call, is_floating(scale.type()), "takes a floating-point scale");
  ElementType type = ElementType::uint8;
  if (const std::int64_t wanted = call.attributes.integer("output_dtype", 0); wanted != 0)
    type = type_coded(call, wanted);
  Array zero_point = Array::scalar(std::int64_t{0}).cast(type);
  if (call.has(2)) {
    require_zero_point_like_scale(call, scale, call.input(2));
    zero_point = spread(call, call.input(2), x.extents());
  }
  ElementType precision = scale.type();
  if (const std::int64_t wanted = call.attributes.integer("precision", 0); wanted != 0)
    precision = type_coded(call, wanted);
  const Array spread_scale = spread(call, scale, x.extents());
  Array quotient = zip<float, float, float>(x.cast(ElementType::float32), spread_scale.cast(ElementType::float32),
                                            [](float value, float by) { return value / by; });
  if (call.opset >= 23 && is_half(precision)) quotient = quotient.cast(precision).cast(ElementType::float32);
  return {quantised(call, quotient, zero_point)};
}

std::vector<Array> dequantize_linear(const HostCall& call) {
  const Array &x = call.input(0), &scale = call.input(1);
  require(call, is_integer(x.type()) && size_of(x.type()) <= 4, "takes integers of at most 32 bits");
  require(call, is_floating(scale.type()), "takes a floating-point scale");
  Array moved = x.cast(ElementType::int64);
  if (call.has(2)) {
    require(call, call.input(2).type() == x.type(), "takes a zero point of x's type");
    require_zero_point_like_scale(call, scale, call.input(2));
    moved = zip<std::int64_t, std::int64_t, std::int64_t>(
        moved, spread(call, call.input(2), x.extents()).cast(ElementType::int64), std::minus<>{});
  }
  const Array factor = spread(call, scale, x.extents()).cast(ElementType::float32);
  const Array result = zip<float, std::int64_t, float>(
      moved, factor, [](std::int64_t value, float by) { return static_cast<float>(value) * by; });
  ElementType type = scale.type();
  if (const std::int64_t wanted = call.attributes.integer("output_dtype", 0); wanted != 0)
    type = type_coded(call, wanted);
  return {result.cast(type)};
}

std::vector<Array> dynamic_quantize_linear(const HostCall& call) {
  const Array& x = call.input(0);
  require(call, x.type() == ElementType::float32, "takes float32");
  float low = 0, high = 0;  // zero is always representable
  for (const float value : x.values<float>()) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = (high == low ? 1.0F : high - low) / 255.0F;
  const auto zero = saturated<std::uint8_t>(std::nearbyint(std::min(255.0F, std::max(0.0F, -low / scale))));
  const Array quotient = map<float, float>(x, [scale](float value) { return value / scale; });
  return {quantised(call, quotient, Array::scalar(zero)), Array::scalar(scale), Array::scalar(zero)};
}

// A parameter of a matrix operand: a single one, or one per row of the left operand, or one per column of the right.
Array per_row(const Array& parameter) {
  if (parameter.size() == 1) return parameter.reshaped({});
  return parameter.rank() == 1 ? parameter.reshaped({parameter.size(), 1}) : parameter;
}
Array per_column(const Array& parameter) { return parameter.size() == 1 ? parameter.reshaped({}) : parameter; }

Array centred(const HostCall& call, const Array& matrix, const Array& zero_point) {
  require(call, zero_point.type() == matrix.type(), "takes a zero point of its operand's type");
  require(call, broadcast(matrix.extents(), zero_point.extents()) == matrix.extents(),
          "has a zero point that does not fit");
  return zip<std::int32_t, std::int32_t, std::int32_t>(matrix.cast(ElementType::int32),
                                                       zero_point.cast(ElementType::int32), std::minus<>{});
}

void require_bytes(const HostCall& call, const Array& matrix) {
  require(call, matrix.type() == ElementType::int8 || matrix.type() == ElementType::uint8, "multiplies 8-bit integers");
}

std::vector<Array> matmul_integer(const HostCall& call) {
  require_bytes(call, call.input(0));
  require_bytes(call, call.input(1));
  const Array a =
      call.has(2) ? centred(call, call.input(0), per_row(call.input(2))) : call.input(0).cast(ElementType::int32);
  const Array b =
      call.has(3) ? centred(call, call.input(1), per_column(call.input(3))) : call.input(1).cast(ElementType::int32);
  return {matrix_product(call, a, b)};
}

std::vector<Array> qlinear_matmul(const HostCall& call) {
  require_bytes(call, call.input(0));
  require_bytes(call, call.input(3));
  for (const std::size_t scale : {1, 4, 6})
    require(call, is_floating(call.input(scale).type()), "takes floating-point scales");
  const Array product = matrix_product(call, centred(call, call.input(0), per_row(call.input(2))),
                                       centred(call, call.input(3), per_column(call.input(5))));
  const auto scale = [&](std::size_t index) { return call.input(index).cast(ElementType::float32); };
  const Array factor =
      zip<float, float, float>(zip<float, float, float>(per_row(scale(1)), per_column(scale(4)), std::multiplies<>{}),
                               per_row(scale(6)), std::divides<>{});
  require(call, broadcast(product.extents(), factor.extents()) == product.extents(), "has scales that do not fit");
  const Array zero_point = per_row(call.input(7));
  require(call, broadcast(product.extents(), zero_point.extents()) == product.extents(),
          "has a zero point that does not fit");
  return {quantised(call, zip<float, float, float>(product.cast(ElementType::float32), factor, std::multiplies<>{}),
                    zero_point)};
}

}  // namespace

Family quantisation() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"DequantizeLinear", dequantize_linear}, {"DynamicQuantizeLinear", dynamic_quantize_linear},
      {"MatMulInteger", matmul_integer},       {"QLinearMatMul", qlinear_matmul},
      {"QuantizeLinear", quantize_linear},
  };
  return functions;
}

}  // namespace taso::runtime
