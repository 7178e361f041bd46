// The numeric check: whether the edited model computes what the original did, on random operands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "onnx/check/tolerance.h"
#include "onnx/import/view.h"
#include "ops/core/array.h"
#include "ops/core/error.h"

namespace taso::onnx {

/// What the check demands of elements that are not finite. Numbers of ordinary size must agree in any case.
enum class SpecialValues : std::uint8_t {
  reported,  ///< nothing
  usual,     ///< finite elements stay finite with large inputs; NaN and infinities among the inputs are only reported
  strict,    ///< the same elements are special, with large inputs and with NaN, infinities and the like in them
};

struct CheckOptions {
  unsigned samples = 1;  ///< the number of sets of random operands
  std::uint64_t seed = 0;
  std::map<std::string, Extents> shapes;  ///< of graph inputs that the model leaves open
  std::map<std::string, Array> data;      ///< of graph inputs, instead of random numbers
  std::optional<double> rtol, atol;       ///< instead of the tolerance of the element type
  /// Whole models run only if their external weights are at most this large; otherwise every changed region runs by
  /// itself.
  std::size_t memory_limit = std::size_t{128} << 20;
  /// The largest tensor that the interpreter may allocate.
  std::size_t largest_tensor = std::size_t{4} << 30;
  unsigned threads = 0;
  SpecialValues special = SpecialValues::usual;
};

struct CheckResult {
  enum class Scope {
    unchanged,  ///< both models are the same graph: nothing to run
    whole,      ///< both models, from inputs to outputs
    regions,    ///< every changed region, on random operands of its own
  };
  bool passed = false;
  Scope scope = Scope::whole;
  std::size_t compared = 0;  ///< tensors compared
  double worst = 0;          ///< the largest difference, as a share of what the tolerance allows
  std::string reason;        ///< why it failed, or why only regions were checked
  double finite = 1;         ///< the least share of finite elements in a compared tensor
  Kinds large{}, special{};  ///< elements with large inputs, and with NaN, infinities and the like among the inputs
};

/// A change that cannot be checked because no operands were found on which it can run. It may be right or wrong.
struct Uncheckable : InputError {
  using InputError::InputError;
};

/// Both views belong to one model file; the second may be edited. Throws Uncheckable, or InputError if a changed part
/// cannot be checked because the original cannot run here.
CheckResult compare(const ModelView& before, const ModelView& after, const CheckOptions& options = {});

}  // namespace taso::onnx
