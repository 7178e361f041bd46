#include "ops/evaluate.h"

#include "ops/field.h"

namespace taso {

template std::vector<Tensor<float>> evaluate(const Operator&, Tensors<float>);
template std::vector<Tensor<double>> evaluate(const Operator&, Tensors<double>);
template std::vector<Tensor<Wrapped<std::int64_t>>> evaluate(const Operator&, Tensors<Wrapped<std::int64_t>>);
template std::vector<Tensor<Wrapped<std::uint64_t>>> evaluate(const Operator&, Tensors<Wrapped<std::uint64_t>>);
template std::vector<Tensor<Field>> evaluate(const Operator&, Tensors<Field>);

}  // namespace taso
