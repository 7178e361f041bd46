// What is known about the values of a model whose past grows, while a model with a cache of fixed capacity is derived
// from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/inference/inference.h"

namespace taso::runtime::growing {

/// What the rows behind the filled ones are.
enum class Beyond : std::uint8_t {
  anything,
  number,  ///< not NaN, as long as caches and what is computed of them do not overflow
  finite,
  zero
};

/// A tensor that has a row for each token. The derived tensor has rows up to the capacity, the filled ones first.
struct Rows {
  std::size_t axis = 0;
  std::int64_t more = 0;  ///< filled rows: as many as the past has, and so many more
  Beyond beyond = Beyond::anything;
  std::string cache = {};  ///< the input whose other rows are behind the filled ones; empty: none
};

/// A number that the length of the past determines: slope * length + offset.
struct Affine {
  std::int64_t slope = 0, offset = 0;
  bool operator==(const Affine&) const = default;
};

/// A value of the model.
struct Tracked {
  Fact fact;                 ///< of the model's own value, for all lengths
  std::optional<Rows> rows;  ///< without: the derived model has exactly the same value
  std::string name = {};     ///< in the derived model; empty for numbers that nothing has needed so far
};

/// What the rows behind the filled ones are at least. Integers are finite. A value without rows counts as a number: if
/// it is none, no filled row is a number either.
inline Beyond beyond_of(const Tracked& value) {
  if (!value.rows) return Beyond::number;
  return is_floating(value.fact.type.element) ? value.rows->beyond : std::max(value.rows->beyond, Beyond::finite);
}

}  // namespace taso::runtime::growing
