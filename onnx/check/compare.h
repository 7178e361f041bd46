// The numeric check: does the edited model compute what the original did, on random operands?
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

/// What the check demands of elements that are not finite. Numbers of ordinary size have to agree in any case.
enum class SpecialValues : std::uint8_t {
  reported,  ///< nothing
  usual,     ///< what is finite stays so with large inputs; NaN and infinities among the inputs are reported
  strict,    ///< with large inputs, and with NaN, infinities and the like among them, the same elements are special
};

struct CheckOptions {
  unsigned samples = 1;  ///< how many sets of random operands
  std::uint64_t seed = 0;
  std::map<std::string, Extents> shapes;  ///< of graph inputs, where the model leaves them open
  std::map<std::string, Array> data;      ///< of graph inputs, instead of random numbers
  std::optional<double> rtol, atol;       ///< instead of the tolerance of the element type
  /// Whole models are run only while their external weights are at most this large; else every changed region by itself.
  std::size_t memory_limit = std::size_t{128} << 20;
  /// What the interpreter may take for one tensor.
  std::size_t largest_tensor = std::size_t{4} << 30;
  unsigned threads = 0;
  SpecialValues special = SpecialValues::usual;
};

struct CheckResult {
  enum class Scope {
    unchanged,  ///< the models are the same graph: nothing to run
    whole,      ///< both models, from inputs to outputs
    regions,    ///< every changed region, on random operands of its own
  };
  bool passed = false;
  Scope scope = Scope::whole;
  std::size_t compared = 0;  ///< tensors compared
  double worst = 0;          ///< the largest difference, as a share of what the tolerance allows
  std::string reason;        ///< why it failed; or why it was not the whole
  double finite = 1;         ///< the least share of finite elements that a tensor had which was compared
  Kinds large{}, special{};  ///< elements with large inputs, and with NaN, infinities and the like among the inputs
};

/// A change that cannot be checked, as no operands were found on which it can be run: nothing is known against it, and
/// nothing for it.
struct Uncheckable : InputError {
  using InputError::InputError;
};

/// Both views belong to one model file, the second possibly edited. Throws Uncheckable. Throws InputError when a part that was changed cannot
/// be checked, because the original cannot be run here.
CheckResult compare(const ModelView& before, const ModelView& after, const CheckOptions& options = {});

}  // namespace taso::onnx
