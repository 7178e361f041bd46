// What is enumerated: families of inputs and operators that meet. Families add up, they do not multiply: matrices and
// images have no operator in common that takes one of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/operator.h"
#include "rules/term.h"

namespace taso {

/// Inputs that may stand for one another.
struct InputKind {
  std::string stem;  ///< names are the stem and a number
  Extents extents;
  Extents larger;         ///< where equalities are confirmed
  std::size_t count = 1;  ///< how many of them there are
  /// The sizes of a kernel's window, which operators with literal pads need to be known; empty for other inputs.
  std::vector<std::int64_t> window() const {
    return is_kernel ? std::vector<std::int64_t>(extents.begin() + 2, extents.end()) : std::vector<std::int64_t>();
  }
  bool is_kernel = false;
};

/// One way to apply an operator.
struct Schema {
  std::string name;  ///< what sets list: "conv3x3"
  Operator op;       ///< with its attributes; `at` of a split and the sizes of constants depend on the place
  std::size_t operands = 1;
  bool commutes = false;
  /// The attributes that a rule states, as terms: those that are not given by the place.
  std::vector<std::pair<std::string, TermPtr>> attributes;
  /// For convolutions: the window that the kernel must have, and whether groups follow from the channels.
  std::vector<std::int64_t> window;
  bool grouped = false;
  /// For constants: the shapes at which they stand, here and where equalities are confirmed.
  Extents constant, larger_constant;
};

struct Family {
  std::string name;
  std::vector<InputKind> inputs;
  std::vector<Schema> schemas;
};

/// The families that these schemas belong to, with the inputs they need. Throws InputError for a name that is none.
std::vector<Family> families(const std::vector<std::string>& schemas);
/// Every schema that there is.
std::vector<std::string> schema_names();
/// What TASO's generator had.
std::vector<std::string> taso_schemas();

}  // namespace taso
