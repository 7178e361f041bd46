#include "ops/graph/evaluate.h"

#include "ops/core/field.h"

namespace taso::ops {

template std::vector<Tensor<Field>> evaluate(const Operator&, Tensors<Field>);

}  // namespace taso::ops
