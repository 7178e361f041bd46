#include "ops/graph/evaluate.h"
#include "verifier/refutation/symbol.h"

namespace taso::ops {

template std::vector<Tensor<verifier::Symbol>> evaluate(const Operator&, Tensors<verifier::Symbol>);

}  // namespace taso::ops
