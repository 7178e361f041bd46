#include "cost/plan/role.h"

namespace taso::cost {
namespace {

template <class T, class... Choices>
inline constexpr bool is_one_of = (std::is_same_v<T, Choices> || ...);

template <class T>
constexpr Role role() {
  using namespace op;
  if constexpr (is_one_of<T, Add, Sub, Mul, Div, ScalarMul, Max, Min, Pow, Sqrt, Exp, Erf, Relu, LeakyRelu, Sigmoid,
                          Tanh, Clip, Gelu, HardSwish, BatchNorm>)
    return Role::element_wise;
  else if constexpr (is_one_of<T, Conv>)
    return Role::convolution;
  else if constexpr (is_one_of<T, MatMul>)
    return Role::matmul;
  else if constexpr (is_one_of<T, AveragePool, MaxPool, LocalResponseNorm>)
    return Role::pooling;
  else if constexpr (is_one_of<T, GlobalAveragePool, LayerNorm, Softmax, ReduceSum, ReduceMean, ReduceMax>)
    return Role::rows;
  else if constexpr (is_one_of<T, Concat>)
    return Role::concat;
  else if constexpr (is_one_of<T, Split>)
    return Role::split;
  else if constexpr (is_one_of<T, Slice>)
    return Role::slice;
  else if constexpr (is_one_of<T, Transpose>)
    return Role::transpose;
  else if constexpr (is_one_of<T, Reshape>)
    return Role::reshape;
  else if constexpr (is_one_of<T, Pad, Enlarge>)
    return Role::copy;
  else {
    static_assert(is_one_of<T, IdentityMatrix, IdentityKernel, PoolingKernel, Ones>, "an operator without a role");
    return Role::constant;
  }
}

template <class T>
constexpr double operations() {
  using namespace op;
  if constexpr (requires { T::flops; }) return T::flops;
  if constexpr (is_one_of<T, Clip, LeakyRelu>) return 2;
  if constexpr (is_one_of<T, BatchNorm>) return 40;  // in our kernels: a square root and a division per element
  if constexpr (is_one_of<T, Gelu>) return 16;
  if constexpr (is_one_of<T, Softmax>) return 14;
  if constexpr (is_one_of<T, LayerNorm>) return 8;
  if constexpr (role<T>() == Role::pooling) return 8;  // mostly locating and reading one element of a window
  if constexpr (role<T>() == Role::rows) return 1;
  return 0;
}

}  // namespace

Role role_of(const Operator& op) {
  return std::visit([]<class T>(const T&) { return role<T>(); }, op);
}

double operations_per_element(const Operator& op) {
  return std::visit([]<class T>(const T&) { return operations<T>(); }, op);
}

}  // namespace taso::cost
