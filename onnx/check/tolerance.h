// When two tensors count as equal in the numeric check, and how elements that are not finite are compared.
#pragma once

#include <cstddef>

#include "ops/core/array.h"

namespace taso::onnx {

struct Tolerance {
  double rtol = 0, atol = 0;
  static Tolerance of(ElementType type);
};

/// Whether two arrays agree within a tolerance; updates `worst`. Types and shapes must be equal, integers and booleans
/// exactly equal. NaN agrees with NaN, and an infinity with itself; finite_share() tells how many elements remain.
bool agrees(const Array& expected, const Array& actual, const Tolerance& tolerance, double& worst);

/// The share of finite elements in a floating-point tensor; 1 for an empty tensor and for other types.
double finite_share(const Array& array);

/// Counts the elements of two floating-point arrays by kind: finite, infinite of either sign, NaN.
struct Kinds {
  std::size_t finite = 0;  ///< elements that are finite in the first array
  std::size_t lost = 0;    ///< those of them that are not finite in the second
  std::size_t other = 0;   ///< other elements whose kinds differ
  Kinds& operator+=(const Kinds& more);
};
Kinds compare_kinds(const Array& expected, const Array& actual);

}  // namespace taso::onnx
