#include "ops/evaluate.h"

#include "ops/field.h"

namespace taso {

template std::vector<Tensor<Field>> evaluate(const Operator&, Tensors<Field>);

}  // namespace taso
