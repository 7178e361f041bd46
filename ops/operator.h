// Every operator that rewrites, in one list. Each std::visit over it is a checklist that the compiler keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ops/operators/add.h"
#include "ops/operators/average_pool.h"
#include "ops/operators/batch_norm.h"
#include "ops/operators/clip.h"
#include "ops/operators/concat.h"
#include "ops/operators/conv.h"
#include "ops/operators/div.h"
#include "ops/operators/enlarge.h"
#include "ops/operators/erf.h"
#include "ops/operators/exp.h"
#include "ops/operators/gelu.h"
#include "ops/operators/global_average_pool.h"
#include "ops/operators/hard_swish.h"
#include "ops/operators/identity_kernel.h"
#include "ops/operators/identity_matrix.h"
#include "ops/operators/layer_norm.h"
#include "ops/operators/leaky_relu.h"
#include "ops/operators/local_response_norm.h"
#include "ops/operators/matmul.h"
#include "ops/operators/max.h"
#include "ops/operators/max_pool.h"
#include "ops/operators/min.h"
#include "ops/operators/mul.h"
#include "ops/operators/ones.h"
#include "ops/operators/pad.h"
#include "ops/operators/pooling_kernel.h"
#include "ops/operators/pow.h"
#include "ops/operators/reduce_max.h"
#include "ops/operators/reduce_mean.h"
#include "ops/operators/reduce_sum.h"
#include "ops/operators/relu.h"
#include "ops/operators/reshape.h"
#include "ops/operators/scalar_mul.h"
#include "ops/operators/sigmoid.h"
#include "ops/operators/slice.h"
#include "ops/operators/softmax.h"
#include "ops/operators/split.h"
#include "ops/operators/sqrt.h"
#include "ops/operators/sub.h"
#include "ops/operators/tanh.h"
#include "ops/operators/transpose.h"

namespace taso {

// clang-format off: one line for each group
using Operator =
    std::variant<op::Add, op::Sub, op::Mul, op::Div, op::ScalarMul, op::Max, op::Min, op::Pow, op::Sqrt, op::Exp,
                 op::Erf, op::Relu, op::LeakyRelu, op::Sigmoid, op::Tanh, op::Clip, op::Gelu, op::HardSwish, op::MatMul,
                 op::Conv, op::Transpose, op::AveragePool, op::MaxPool, op::GlobalAveragePool, op::Concat, op::Split,
                 op::Slice, op::Pad, op::Reshape, op::Enlarge, op::BatchNorm, op::LayerNorm, op::Softmax, op::ReduceSum,
                 op::ReduceMean, op::ReduceMax, op::IdentityMatrix, op::IdentityKernel, op::PoolingKernel, op::Ones,
                 op::LocalResponseNorm>;
// clang-format on

/// What an attribute may be.
using FieldValue =
    std::variant<bool, std::int64_t, double, Dim, ElementType, std::vector<std::int64_t>, std::vector<Dim>>;

std::string_view name_of(const Operator& op);
std::size_t min_inputs(const Operator& op);
std::size_t max_inputs(const Operator& op);
std::size_t outputs_of(const Operator& op);
/// The operator of that name with its default attributes.
std::optional<Operator> operator_named(std::string_view name);
/// All of them, with default attributes, in the order of the list.
std::vector<Operator> all_operators();

struct NamedField {
  std::string_view name;
  FieldValue value;
};
std::vector<NamedField> fields_of(const Operator& op);
/// Sets an attribute; false if the operator has none of that name or not of that kind (an integer is taken for a double
/// or a dimension, a list of integers for a list of dimensions).
bool set_field(Operator& op, std::string_view name, const FieldValue& value);
std::size_t hash_of(const Operator& op);

/// The shapes of the outputs; throws ShapeError.
Shapes infer(const Operator& op, std::span<const Shape> inputs);
Work work_of(const Operator& op, std::span<const Shape> inputs);

/// What the operator means. Instantiated in ops/evaluate_*.cpp for the numbers of the interpreter and for Field; include
/// "ops/evaluate.h" for other scalars.
template <Scalar S>
std::vector<Tensor<S>> evaluate(const Operator& op, Tensors<S> inputs);

}  // namespace taso
