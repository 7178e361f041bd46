// A dimension compiled for fast evaluation: unknowns are indices into a list instead of names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/core/dim.h"

namespace taso::rules {

/// The index of each unknown in the lists of values.
using Places = std::map<std::string, std::size_t, std::less<>>;

class CompiledDim {
 public:
  CompiledDim(Dim dim, const Places& places);

  /// Nothing if it overflows, or divides by a number that is not positive.
  std::optional<std::int64_t> evaluate(std::span<const std::int64_t> values) const {
    if (code_.empty()) return constant_;
    return evaluate_code(values);
  }

 private:
  std::optional<std::int64_t> evaluate_code(std::span<const std::int64_t> values) const;
  void append(Dim dim, const Places& places);

  std::int64_t constant_ = 0;
  // The number of terms; for each term its coefficient, the number of factors, and for each factor the index of the
  // unknown, or -1 followed by the numerator and the denominator in the same form. Empty for a number.
  std::vector<std::int64_t> code_;
};

}  // namespace taso::rules
