// The sign of a sum, derived from the signs of its parts.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

enum class Sign {
  unknown,       ///< or negative
  not_negative,  ///< wherever it is defined
  positive,      ///< wherever it is defined
};

/// The sign for all elements of the inputs and all values of the variables.
Sign sign_of(const Sum& sum);

}  // namespace taso::verifier::normal
