#include "ops/graph/evaluate.h"
#include "verifier/refutation/symbol.h"

namespace taso {

template std::vector<Tensor<Symbol>> evaluate(const Operator&, Tensors<Symbol>);

}  // namespace taso
