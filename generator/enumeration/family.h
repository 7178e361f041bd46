// What is enumerated: families of inputs and operators that meet. Families add up, they do not multiply: what no rule
// needs side by side is kept apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/operator.h"
#include "rules/language/term.h"

namespace taso::generator {

/// Inputs that may stand for one another. What an input is for shows in its shape: none is a scalar, one axis a bias,
/// [1, C, 1, 1] one number for each channel.
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
  /// Where it may be cut along every axis, though it was never joined; 0: nowhere. In a rule, that is a variable.
  std::int64_t cut = 0;
  /// Whether it has one number for each channel, and nothing else.
  bool is_channels() const {
    return !is_kernel && extents.size() == 4 && extents[0] == 1 && extents[2] == 1 && extents[3] == 1;
  }
};

/// How attributes that depend on the place follow from the operand.
enum class Fit {
  given,                ///< they do not depend on it
  at_joint,             ///< split: where it was joined
  before_joint,         ///< slice: from the begin to where it was joined
  after_joint,          ///< slice: from where it was joined to the end
  inside,               ///< slice: all but the first and the last
  rows_joined,          ///< reshape: [B, M, K] to [B M, K]
  rows_parted,          ///< reshape: [B M, K] to [B, M, K], where it was joined so
  vector_to_channels,   ///< reshape: [C] to [1, C, 1, 1]
  channels_to_vector,   ///< reshape: [1, C, 1, 1] to [C]
  channels_to_filters,  ///< reshape: [1, C, 1, 1] to [C, 1, 1, 1], for kernels
};

/// One way to apply an operator.
struct Schema {
  std::string name;  ///< what sets list: "conv3x3"
  Operator op;       ///< with its attributes; `at` of a split and the sizes of constants depend on the place
  std::size_t operands = 1;
  bool commutes = false;
  /// The attributes that a rule states, as terms: those that are not given by the place.
  std::vector<std::pair<std::string, rules::TermPtr>> attributes;
  /// For convolutions: the window that the kernel must have, and whether groups follow from the channels.
  std::vector<std::int64_t> window;
  bool grouped = false;
  /// For constants: the shapes at which they stand, here and where equalities are confirmed.
  Extents constant, larger_constant;
  Fit fit = Fit::given;
  bool shares_matrix = false;  ///< a product of a stack with one matrix for all
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

}  // namespace taso::generator
