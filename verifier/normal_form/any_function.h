// Functions of which only the class is known: what is proved of them holds for every member. An operator of the class
// represents each of them; its own meaning is not used.
#pragma once

#include <cstddef>

namespace taso::verifier {

struct AnyFunction {
  std::size_t stand_in = 0;  ///< index in all_operators(); it is element-wise
  bool keeps_zero = false;   ///< 0 if all operands are 0
  bool rises = false;        ///< one operand
  bool is_linear = false;    ///< two operands: a x + b y
};

}  // namespace taso::verifier
