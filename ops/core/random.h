// Random choices that are the same on every machine, unlike those of the standard distributions.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/error.h"
#include "ops/support/scramble.h"

namespace taso::ops {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return scramble(state_ += 0x9e3779b97f4a7c15u); }
  /// A number from low to high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    check(low <= high, "a range has at least one number");
    return low + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(high - low) + 1));
  }
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(count) - 1));
  }
  bool chance(double probability) { return unit() < probability; }
  /// A number from 0 (included) to 1 (excluded).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace taso::ops
