// The values of a program's unknown dimensions in one run, learnt from the arrays that it reads and computes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ops/core/array.h"

namespace taso::ops {

class Binding {
 public:
  /// Binds every unknown that is a dimension by itself and has no value yet. Returns an error message if the array's
  /// element type or rank is not the declared one.
  std::optional<std::string> learn(const Type& declared, const Array& array);
  /// Returns how the array differs from the declaration; dimensions whose unknowns have no value are not compared.
  std::optional<std::string> mismatch(const Type& declared, const Array& array) const;
  /// The number that a dimension stands for; throws InputError if an unknown in it has no value.
  std::int64_t number(const Dim& dim) const;

 private:
  bool knows(const Dim& dim) const;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace taso::ops
