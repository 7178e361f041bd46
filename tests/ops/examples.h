// Every operator at least once, on operands that fit it, for tests of properties of all operators.
#pragma once

#include <random>
#include <vector>

#include "ops/graph/operator.h"

namespace taso::test {

enum class Exactness {
  approximate,  ///< uses functions that are not polynomials
  dyadic,       ///< divides by powers of two only: exact on small integers
  integral,     ///< integers stay integers
};

struct Example {
  Operator op;
  std::vector<Extents> operands;
  Exactness exactness = Exactness::integral;
};

inline std::vector<Example> examples() {
  using enum Exactness;
  const std::vector<Extents> pair{{2, 3}, {3}}, stretched{{2, 1, 3}, {4, 1}}, one{{2, 3}}, image{{2, 4, 5, 6}};
  return {
      {op::Add{}, pair},
      {op::Sub{}, stretched},
      {op::Mul{}, pair},
      {op::Div{}, {{2, 3}, {}}, approximate},
      {op::ScalarMul{}, {{2, 3}, {}}},
      {op::ScalarMul{}, {{2, 3}, {1, 1}}},
      {op::Max{}, stretched},
      {op::Min{}, pair},
      {op::Pow{}, pair, approximate},
      {op::Sqrt{}, one, approximate},
      {op::Exp{}, one, approximate},
      {op::Erf{}, one, approximate},
      {op::Relu{}, one},
      {op::LeakyRelu{.alpha = 0.25}, one, dyadic},
      {op::Sigmoid{}, one, approximate},
      {op::Tanh{}, one, approximate},
      {op::Clip{}, one},
      {op::Clip{.low = -1, .high = 2}, one},
      {op::Gelu{}, one, approximate},
      {op::Gelu{.tanh = true}, one, approximate},
      {op::HardSwish{}, one, approximate},
      {op::Neg{}, one},
      {op::Reciprocal{}, one, approximate},
      {op::Silu{}, one, approximate},
      {op::MatMul{}, {{2, 3}, {3, 4}}},
      {op::MatMul{}, {{5, 1, 2, 3}, {6, 3, 4}}},
      {op::MatMul{}, {{2, 0}, {0, 4}}},
      {op::Conv{.strides = {1}, .dilations = {1}, .pads = {0, 0}}, {{2, 3, 5}, {4, 3, 2}}},
      {op::Conv{.strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 0, 0, 2}, .groups = 2},
       {image[0], {6, 2, 3, 2}, {6}}},
      {op::Conv{.strides = {1, 1, 2}, .dilations = {1, 1, 1}, .pads = {0, 1, 0, 0, 1, 1}, .groups = 3},
       {{1, 3, 3, 3, 3}, {3, 1, 2, 3, 2}}},
      {op::ConvTranspose{.strides = {2}, .dilations = {1}, .pads = {0, 0}, .output_padding = {0}},
       {{2, 3, 4}, {3, 2, 3}}},
      {op::ConvTranspose{
           .strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 0, 0, 2}, .output_padding = {1, 0}, .groups = 2},
       {{1, 4, 2, 3}, {4, 3, 3, 2}, {6}}},
      {op::ConvTranspose{.strides = {3, 1, 2},
                         .dilations = {2, 1, 1},
                         .pads = {0, 1, 0, 0, 1, 1},
                         .output_padding = {0, 0, 3},
                         .groups = 3},
       {{1, 3, 2, 3, 2}, {3, 1, 2, 2, 2}}},
      {op::Transpose{.permutation = {2, 0, 1}}, {{2, 3, 4}}},
      {op::Transpose{}, {Extents{}}},
      {op::AveragePool{.kernel = {2, 2}, .strides = {1, 2}, .dilations = {1, 1}, .pads = {1, 0, 0, 1}}, image, dyadic},
      {op::AveragePool{.kernel = {2}, .strides = {2}, .dilations = {2}, .pads = {0, 1}, .count_padding = true},
       {{1, 2, 6}},
       dyadic},
      {op::AveragePool{.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .ceil = true},
       {{1, 2, 5, 5}},
       dyadic},
      {op::MaxPool{.kernel = {3, 2}, .strides = {2, 2}, .dilations = {1, 2}, .pads = {1, 1, 1, 0}}, image},
      {op::MaxPool{.kernel = {3}, .strides = {2}, .dilations = {1}, .pads = {0, 0}, .ceil = true}, {{1, 1, 6}}},
      {op::GlobalAveragePool{}, {{2, 3, 2, 4}}, dyadic},
      {op::Concat{.axis = 1}, {{2, 3, 2}, {2, 1, 2}}},
      {op::Split{.axis = 1, .at = 2}, {{2, 3, 2}}},
      {op::Slice{.axis = 1, .begin = 1, .end = 3}, {{2, 4, 2}}},
      {op::Slice{.axis = 0, .begin = 2, .end = 2}, {{2, 3}}},
      {op::Pad{.before = {0, 1}, .after = {2, 0}, .value = 3}, one},
      {op::Reshape{.shape = {3, 1, 2}}, one},
      {op::Enlarge{.kernel = {3, 4}}, {{2, 3, 1, 1}}},
      {op::BatchNorm{}, {{2, 3, 4}, {3}, {3}, {3}, {3}}, approximate},
      {op::LayerNorm{.axis = 1}, {{2, 3, 4}, {3, 4}, {4}}, approximate},
      {op::LayerNorm{.axis = 2, .epsilon = 1e-3}, {{2, 3, 4}, {4}}, approximate},
      {op::Softmax{.axis = 1}, {{2, 3, 4}}, approximate},
      {op::LocalResponseNorm{.size = 3, .alpha = 0.5}, {{2, 4, 3}}, approximate},
      {op::LocalResponseNorm{.size = 4, .alpha = 2, .beta = 0.5, .bias = 3}, {{1, 3, 2, 2}}, approximate},
      {op::ReduceSum{.axes = {2, 0}, .keep = false}, {{2, 3, 4}}},
      {op::ReduceSum{.axes = {1}}, {{2, 0, 4}}},
      {op::ReduceMean{.axes = {0, 2}}, {{2, 3, 4}}, dyadic},
      {op::ReduceMax{.axes = {1}, .keep = false}, {{2, 3, 4}}},
      {op::IdentityMatrix{.size = 3}, {}},
      {op::IdentityKernel{.channels = 4, .groups = 2, .kernel = {3, 1}}, {}},
      {op::PoolingKernel{.channels = 2, .kernel = {2, 4}}, {}, dyadic},
      {op::Ones{.shape = {2, 3}}, {}},
  };
}

/// Integers between -3 and 3, the same on every machine.
inline std::vector<std::int64_t> small_integers(std::mt19937& random, std::int64_t size) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<std::int64_t>(random() % 7) - 3);
  return values;
}

/// Operands of an example, each element made from a small integer by `make`.
template <class S, class Make>
std::vector<ops::Tensor<S>> operands_of(const Example& example, std::mt19937& random, Make&& make) {
  std::vector<ops::Tensor<S>> operands;
  for (const Extents& extents : example.operands) {
    std::vector<S> data;
    for (const std::int64_t value : small_integers(random, count(extents))) data.push_back(make(value));
    operands.emplace_back(extents, std::move(data));
  }
  return operands;
}

}  // namespace taso::test
