// The sign of a sum, told from the signs of its parts.
#pragma once

#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

enum class Sign {
  unknown,       ///< or negative
  not_negative,  ///< wherever it has a value
  positive,      ///< wherever it has a value
};

/// Whatever the elements of the inputs are, and for all values of the variables.
Sign sign_of(const Sum& sum);

}  // namespace taso::verifier::normal
