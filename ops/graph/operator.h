// The list of all operators that rewriting knows. The compiler checks that every std::visit over it is complete.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ops/operators/constants/identity_kernel.h"
#include "ops/operators/constants/identity_matrix.h"
#include "ops/operators/constants/ones.h"
#include "ops/operators/constants/pooling_kernel.h"
#include "ops/operators/elementwise/add.h"
#include "ops/operators/elementwise/clip.h"
#include "ops/operators/elementwise/div.h"
#include "ops/operators/elementwise/erf.h"
#include "ops/operators/elementwise/exp.h"
#include "ops/operators/elementwise/gelu.h"
#include "ops/operators/elementwise/hard_swish.h"
#include "ops/operators/elementwise/leaky_relu.h"
#include "ops/operators/elementwise/max.h"
#include "ops/operators/elementwise/min.h"
#include "ops/operators/elementwise/mul.h"
#include "ops/operators/elementwise/neg.h"
#include "ops/operators/elementwise/pow.h"
#include "ops/operators/elementwise/reciprocal.h"
#include "ops/operators/elementwise/relu.h"
#include "ops/operators/elementwise/scalar_mul.h"
#include "ops/operators/elementwise/sigmoid.h"
#include "ops/operators/elementwise/silu.h"
#include "ops/operators/elementwise/sqrt.h"
#include "ops/operators/elementwise/sub.h"
#include "ops/operators/elementwise/tanh.h"
#include "ops/operators/geometry/concat.h"
#include "ops/operators/geometry/enlarge.h"
#include "ops/operators/geometry/pad.h"
#include "ops/operators/geometry/reshape.h"
#include "ops/operators/geometry/slice.h"
#include "ops/operators/geometry/split.h"
#include "ops/operators/geometry/transpose.h"
#include "ops/operators/linear/conv.h"
#include "ops/operators/linear/conv_transpose.h"
#include "ops/operators/linear/matmul.h"
#include "ops/operators/pooling/average_pool.h"
#include "ops/operators/pooling/global_average_pool.h"
#include "ops/operators/pooling/max_pool.h"
#include "ops/operators/reduction/batch_norm.h"
#include "ops/operators/reduction/layer_norm.h"
#include "ops/operators/reduction/local_response_norm.h"
#include "ops/operators/reduction/reduce_max.h"
#include "ops/operators/reduction/reduce_mean.h"
#include "ops/operators/reduction/reduce_sum.h"
#include "ops/operators/reduction/softmax.h"

namespace taso::ops {

// New operators go to the end: the order decides between equals in a search.
using AnyOperator =
    std::variant<op::Add, op::Sub, op::Mul, op::Div, op::ScalarMul, op::Max, op::Min, op::Pow, op::Sqrt, op::Exp,
                 op::Erf, op::Relu, op::LeakyRelu, op::Sigmoid, op::Tanh, op::Clip, op::Gelu, op::HardSwish, op::MatMul,
                 op::Conv, op::Transpose, op::AveragePool, op::MaxPool, op::GlobalAveragePool, op::Concat, op::Split,
                 op::Slice, op::Pad, op::Reshape, op::Enlarge, op::BatchNorm, op::LayerNorm, op::Softmax, op::ReduceSum,
                 op::ReduceMean, op::ReduceMax, op::IdentityMatrix, op::IdentityKernel, op::PoolingKernel, op::Ones,
                 op::LocalResponseNorm, op::Neg, op::Reciprocal, op::Silu, op::ConvTranspose>;

/// One of them, with its attributes. A class and not an alias, so that the code that copies, moves and compares forty
/// types is compiled once: as an alias it took more than a second in every source that copies an operator.
class Operator : public AnyOperator {
 public:
  Operator();
  template <class Op>
  requires std::is_constructible_v<AnyOperator, Op> &&(!std::is_base_of_v<AnyOperator, Op>)  // NOLINTNEXTLINE
      Operator(Op op)
      : AnyOperator(std::move(op)) {}
  Operator(const Operator& other);
  Operator(Operator&& other) noexcept;
  Operator& operator=(const Operator& other);
  Operator& operator=(Operator&& other) noexcept;
  ~Operator();
};
bool operator==(const Operator& a, const Operator& b);

/// The value of an attribute.
using FieldValue =
    std::variant<bool, std::int64_t, double, Dim, ElementType, std::vector<std::int64_t>, std::vector<Dim>>;

std::string_view name_of(const Operator& op);
std::size_t min_inputs(const Operator& op);
std::size_t max_inputs(const Operator& op);
std::size_t outputs_of(const Operator& op);
Traits traits_of(const Operator& op);
KernelRole role_of(const Operator& op);
/// The operator of ONNX that is the same function, if there is one without attributes.
std::optional<OnnxForm> onnx_form_of(const Operator& op);
/// The operator of that name, with default attributes.
std::optional<Operator> operator_named(std::string_view name);
/// All operators, with default attributes, in the order of the list.
std::vector<Operator> all_operators();

struct NamedField {
  std::string_view name;
  FieldValue value;
};
std::vector<NamedField> fields_of(const Operator& op);
/// Sets an attribute. Returns false if the operator has no attribute of that name and kind. An integer is accepted for
/// a double or a dimension, and a list of integers for a list of dimensions.
bool set_field(Operator& op, std::string_view name, const FieldValue& value);
std::size_t hash_of(const Operator& op);

/// The shapes of the outputs; throws ShapeError.
Shapes infer(const Operator& op, std::span<const Shape> inputs);
Work work_of(const Operator& op, std::span<const Shape> inputs);

/// Evaluates the operator's definition. Instantiated in ops/graph/evaluate_*.cpp for the interpreter's number types and
/// for Field; include "ops/graph/evaluate.h" for other scalars.
template <Scalar S>
std::vector<Tensor<S>> evaluate(const Operator& op, Tensors<S> inputs);

}  // namespace taso::ops
