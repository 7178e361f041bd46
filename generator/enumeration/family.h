// What is enumerated: families of inputs and operators that may be combined. Families add up, they do not multiply:
// operators that no rule needs together are in different families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/operator.h"
#include "rules/language/term.h"

namespace taso::generator {

/// Interchangeable inputs. The shape tells their purpose: rank 0 is a scalar, one axis a bias, [1, C, 1, 1] one number
/// per channel.
struct InputKind {
  std::string stem;  ///< a name is the stem and a number
  Extents extents;
  Extents larger;         ///< the shape at which equalities are confirmed
  std::size_t count = 1;  ///< number of such inputs
  /// The size of a kernel's window, which operators with literal pads need; empty for other inputs.
  std::vector<std::int64_t> window() const {
    return is_kernel ? std::vector<std::int64_t>(extents.begin() + 2, extents.end()) : std::vector<std::int64_t>();
  }
  bool is_kernel = false;
  /// Where it may be cut along every axis, although it was never joined; 0 means nowhere. In a rule this is a variable.
  std::int64_t cut = 0;
  /// Whether it has one number per channel, and nothing else.
  bool is_channels() const {
    return !is_kernel && extents.size() == 4 && extents[0] == 1 && extents[2] == 1 && extents[3] == 1;
  }
};

/// How attributes follow from the operand.
enum class Fit {
  given,                ///< they do not depend on it
  at_joint,             ///< split: where it was joined
  before_joint,         ///< slice: from the beginning to where it was joined
  after_joint,          ///< slice: from where it was joined to the end
  inside,               ///< slice: all but the first and the last
  rows_joined,          ///< reshape: [B, M, K] to [B M, K]
  rows_parted,          ///< reshape: [B M, K] to [B, M, K], the inverse of rows_joined
  vector_to_channels,   ///< reshape: [C] to [1, C, 1, 1]
  channels_to_vector,   ///< reshape: [1, C, 1, 1] to [C]
  channels_to_filters,  ///< reshape: [1, C, 1, 1] to [C, 1, 1, 1], for kernels
};

/// One way to apply an operator.
struct Schema {
  std::string name;  ///< as listed in operator sets: "conv3x3"
  Operator op;       ///< with its attributes; `at` of a split and the sizes of constants depend on the operands
  std::size_t operands = 1;
  bool commutes = false;
  /// The attributes that a rule states, as terms: those that do not depend on the operands.
  std::vector<std::pair<std::string, rules::TermPtr>> attributes;
  /// For convolutions: the window of the kernel, and whether groups follow from the channels.
  std::vector<std::int64_t> window;
  bool grouped = false;
  /// For constants: their shapes, here and where equalities are confirmed.
  Extents constant, larger_constant;
  Fit fit = Fit::given;
  bool shares_matrix = false;  ///< a product of a batch of matrices with one shared matrix
};

struct Family {
  std::string name;
  std::vector<InputKind> inputs;
  std::vector<Schema> schemas;
};

/// The families that these schemas belong to, with the inputs they need. Throws InputError for an unknown name.
std::vector<Family> families(const std::vector<std::string>& schemas);
/// All schemas.
std::vector<std::string> schema_names();
/// The schemas of TASO's generator.
std::vector<std::string> taso_schemas();

}  // namespace taso::generator
