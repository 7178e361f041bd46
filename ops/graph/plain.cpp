#include "ops/graph/plain.h"

namespace taso::ops {
namespace {

template <class S, class T>
S widen(T value) {
  if constexpr (std::is_floating_point_v<S>)
    return static_cast<S>(value);
  else
    return S(static_cast<decltype(S::value)>(value));
}

template <class T, class S>
T narrow(const S& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value.value != 0;
  else if constexpr (std::is_floating_point_v<S>)
    return T(value);
  else
    return static_cast<T>(value.value);
}

/// `S` computes, `T` stores.
template <class S, class T>
std::vector<Array> evaluate_in(const Operator& op, std::span<const Array> inputs) {
  std::vector<Tensor<S>> tensors;
  for (const Array& input : inputs) {
    std::vector<S> data;
    data.reserve(static_cast<std::size_t>(input.size()));
    for (const T value : input.values<T>()) data.push_back(widen<S>(value));
    tensors.emplace_back(input.extents(), std::move(data));
  }
  std::vector<Array> results;
  for (const Tensor<S>& tensor : evaluate<S>(op, Tensors<S>(tensors))) {
    Array& result = results.emplace_back(element_type_of<T>, tensor.extents);
    const auto out = result.mutable_values<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow<T>(tensor.data[i]);
  }
  return results;
}

}  // namespace

ElementType element_type_of_result(const Operator& op, std::span<const Array> inputs) {
  if (!inputs.empty()) return inputs[0].type();
  for (const NamedField& field : fields_of(op))
    if (const auto* type = std::get_if<ElementType>(&field.value)) return *type;
  return ElementType::undefined;
}

std::vector<Array> evaluate_plainly(const Operator& op, std::span<const Array> inputs) {
  // Infer shapes first: that reports operands that do not fit, which the definitions do not check.
  Shapes shapes;
  for (const Array& input : inputs) shapes.push_back(shape_of(input.extents()));
  infer(op, shapes);
  const ElementType type = element_type_of_result(op, inputs);
  check(type != ElementType::undefined, "operators work on element types that we model");
  return with_element_type(type, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, double>)
      return evaluate_in<double, T>(op, inputs);
    else if constexpr (!std::is_integral_v<T>)
      return evaluate_in<float, T>(op, inputs);
    else if constexpr (std::is_signed_v<T>)
      return evaluate_in<Wrapped<std::int64_t>, T>(op, inputs);
    else
      return evaluate_in<Wrapped<std::uint64_t>, T>(op, inputs);
  });
}

}  // namespace taso::ops
