// Normal forms as people write them: "Σ k < x.1: x[i0, k]·y[k, i1]".
#pragma once

#include <string>
#include <vector>

#include "rules/instance/instance.h"

namespace taso::verifier {

/// One element of a result, on both sides: the terms of a sum, as text. Equal terms have equal texts, if they differ in
/// nothing but the names of bound variables and the order of factors.
struct ReadableElement {
  std::vector<std::string> index;           ///< "i0 < x.0"
  std::vector<std::string> source, target;  ///< a sum without terms is 0
  std::string obstacle;                     ///< why it cannot be shown; else empty
};

/// For each result of the instance.
std::vector<ReadableElement> readable_normal_forms(const rules::Instance& instance);

}  // namespace taso::verifier
