// When two tensors count as equal in the numeric check, and what is left to compare where elements are not finite.
#pragma once

#include <cstddef>

#include "ops/core/array.h"

namespace taso::onnx {

struct Tolerance {
  double rtol = 0, atol = 0;
  static Tolerance of(ElementType type);
};

/// Whether two arrays agree within a tolerance; adds to `worst`. Types and shapes must be equal; integers and booleans
/// must be exactly so. NaN agrees with NaN, and an infinity with itself: finite_share() says how much that leaves.
bool agrees(const Array& expected, const Array& actual, const Tolerance& tolerance, double& worst);

/// Of the elements of a tensor of floating-point numbers; 1 for an empty one, and for other types.
double finite_share(const Array& array);

/// Elements of two arrays of floating-point numbers by their kind: finite, infinite of either sign, NaN.
struct Kinds {
  std::size_t finite = 0;  ///< elements that are finite in the first
  std::size_t lost = 0;    ///< of these, elements that are not finite in the second
  std::size_t other = 0;   ///< other elements that are of different kinds
  Kinds& operator+=(const Kinds& more);
};
Kinds compare_kinds(const Array& expected, const Array& actual);

}  // namespace taso::onnx
