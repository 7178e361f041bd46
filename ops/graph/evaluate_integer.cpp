#include "ops/graph/evaluate.h"

namespace taso::ops {

template std::vector<Tensor<Wrapped<std::int64_t>>> evaluate(const Operator&, Tensors<Wrapped<std::int64_t>>);
template std::vector<Tensor<Wrapped<std::uint64_t>>> evaluate(const Operator&, Tensors<Wrapped<std::uint64_t>>);

}  // namespace taso::ops
