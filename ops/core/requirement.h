#pragma once

#include "ops/core/dim.h"

namespace taso::ops {

/// A statement about integers that shape inference needs or that a rule's condition makes.
struct Requirement {
  enum class Kind {
    equal,      ///< left = right
    not_equal,  ///< left != right
    at_least,   ///< left >= right
    divides,    ///< left divides right
  };
  Kind kind = Kind::equal;
  Dim left, right;
  bool operator==(const Requirement&) const = default;
};

}  // namespace taso::ops
