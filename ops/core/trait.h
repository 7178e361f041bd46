// What an operator obeys whatever its attributes are, its kind of kernel and its name in ONNX, stated in its own file.
// Rules have classes of operators by trait (rules/language/function_class.h), which verifier/membership.h proves.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace taso::ops {

enum class Trait {
  element_wise,  ///< each element of the result is one function of the operands' elements at the same place
  keeps_zero,    ///< f(0) = 0; of two operands, f(0, 0) = 0
  rising,        ///< f has a value everywhere, and f(max(x, y)) = max(f(x), f(y))
  linear,        ///< f(x, y) = a x + b y for two numbers a and b
  commutes,      ///< f(x, y) = f(y, x)
  associates,    ///< f(x, f(y, z)) = f(f(x, y), z)
  reduction,     ///< combines the elements along `axes`
  // These are not proved. (That an element-wise operator without `partial` has a value everywhere is.)
  partial,  ///< has no value at some numbers: a division, a root. If that depends on attributes: `is_partial()`
  sums,     ///< adds up many elements, in an order that is up to the kernel
  tame,     ///< with operands of ordinary size, results stay far from the limits of float32
};

class Traits {
 public:
  constexpr Traits(std::initializer_list<Trait> traits) {
    for (const Trait trait : traits) bits_ |= bit(trait);
  }
  constexpr bool has(Trait trait) const { return (bits_ & bit(trait)) != 0; }

 private:
  static constexpr unsigned bit(Trait trait) { return 1u << static_cast<unsigned>(trait); }
  unsigned bits_ = 0;
};

/// Which kind of kernel computes an operator. Element-wise operators need not say it.
enum class KernelRole : std::uint8_t {
  element_wise,  ///< one operation per element; broadcasts
  convolution,
  matmul,
  pooling,
  rows,  ///< reductions, softmax, layer norm: whole rows at a time
  concat,
  split,
  slice,
  transpose,
  reshape,
  copy,      ///< other movement: pad, enlarge
  constant,  ///< has no operands
};

/// An operator of ONNX that is the same function of the same operands, without attributes. Import, export and the
/// certificate checker need to know no more of it.
struct OnnxForm {
  std::string_view name;
  int since = 1;              ///< the opset from which its operands broadcast as ours do
  bool has_integers = false;  ///< whether integers may be its operands
};

}  // namespace taso::ops
