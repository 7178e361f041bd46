#include "ops/graph/evaluate.h"

namespace taso::ops {

template std::vector<Tensor<float>> evaluate(const Operator&, Tensors<float>);
template std::vector<Tensor<double>> evaluate(const Operator&, Tensors<double>);

}  // namespace taso::ops
