// What an operator obeys whatever its attributes are: said once, beside its meaning. The rule language makes classes of
// operators of these (rules/language/function_class.h), and taso-verify proves each of them (verifier/membership.h).
#pragma once

#include <initializer_list>

namespace taso::ops {

enum class Trait {
  element_wise,  ///< each element of the result is one function of the operands' elements at the same place
  keeps_zero,    ///< f(0) = 0; of two operands, f(0, 0) = 0
  rising,        ///< f has a value everywhere, and f(max(x, y)) = max(f(x), f(y))
  linear,        ///< f(x, y) = a x + b y for two numbers a and b
  commutes,      ///< f(x, y) = f(y, x)
  associates,    ///< f(x, f(y, z)) = f(f(x, y), z)
  reduction,     ///< combines the elements along `axes`
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

}  // namespace taso::ops
