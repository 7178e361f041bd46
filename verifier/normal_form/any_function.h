// Functions of which only their class is known: what is proved of them holds for every member. Each has an operator of
// the class as its stand-in, whose own meaning is not looked at.
#pragma once

#include <cstddef>

namespace taso::verifier {

struct AnyFunction {
  std::size_t stand_in = 0;  ///< its place in all_operators(); it is element-wise
  bool keeps_zero = false;   ///< 0 where all operands are
  bool rises = false;        ///< of one operand
  bool is_linear = false;    ///< of two operands: a x + b y
};

}  // namespace taso::verifier
