// What the unknown dimensions of a program turn out to be in one run, learnt from the arrays that come by.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ops/core/array.h"

namespace taso::ops {

class Binding {
 public:
  /// Gives a value to every name that is a dimension by itself and has none yet. Says what is wrong if the array is not
  /// of the declared element type or rank.
  std::optional<std::string> learn(const Type& declared, const Array& array);
  /// Says how the array differs from what was declared, as far as the names have values.
  std::optional<std::string> mismatch(const Type& declared, const Array& array) const;
  /// The number that a dimension stands for; throws InputError when a name in it has no value.
  std::int64_t number(const Dim& dim) const;

 private:
  bool knows(const Dim& dim) const;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace taso::ops
