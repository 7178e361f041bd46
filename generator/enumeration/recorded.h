// A number that records how it was computed. With it, an operator's meaning is run once for given shapes and becomes
// straight-line code, which runs many times.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ops/core/field.h"

namespace taso::generator {

/// An index into the recording of this thread.
class Recorded {
 public:
  explicit Recorded(std::uint32_t place) : place_(place) {}
  std::uint32_t place() const { return place_; }
  friend Recorded operator+(const Recorded& a, const Recorded& b);
  friend Recorded operator-(const Recorded& a, const Recorded& b);
  friend Recorded operator*(const Recorded& a, const Recorded& b);

 private:
  std::uint32_t place_;
};

/// Records what is computed during its lifetime; one per thread at a time.
class Recording {
 public:
  enum class Kind : std::uint8_t { operand, constant, sum, difference, product, function };
  using Function = Field (*)(Field, Field);
  struct Step {
    Kind kind = Kind::operand;
    std::uint32_t left = 0, right = 0;
    Field value;  ///< for a constant
    Function function = nullptr;
    /// For a sum: the products that it adds.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> products;
  };

  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Recorded operand();
  Recorded constant(Field value);
  Recorded sum(const Recorded& a, const Recorded& b);
  Recorded difference(const Recorded& a, const Recorded& b);
  Recorded product(const Recorded& a, const Recorded& b);
  Recorded call(Function function, const Recorded& a, const Recorded& b);
  const std::vector<Step>& steps() const { return steps_; }

  static Recording& current();

 private:
  Recorded push(Step step);
  bool is(const Recorded& number, std::int64_t value) const;
  void add_products(std::uint32_t place, std::vector<std::pair<std::uint32_t, std::uint32_t>>& to);

  std::vector<Step> steps_;
  std::map<std::uint64_t, std::uint32_t> constants_;
};

struct RecordedMath {
  using S = Recorded;
  static S constant(double value) { return Recording::current().constant(ops::Math<Field>::constant(value)); }
  static S divide(const S& a, const S& b) {
    return call([](Field x, Field y) { return ops::Math<Field>::divide(x, y); }, a, b);
  }
  static S maximum(const S& a, const S& b) {
    return call([](Field x, Field y) { return ops::Math<Field>::maximum(x, y); }, a, b);
  }
  static S minimum(const S& a, const S& b) {
    return call([](Field x, Field y) { return ops::Math<Field>::minimum(x, y); }, a, b);
  }
  static S lowest() { return Recording::current().constant(ops::Math<Field>::lowest()); }
  static S exp(const S& a) {
    return call([](Field x, Field) { return ops::Math<Field>::exp(x); }, a, a);
  }
  static S erf(const S& a) {
    return call([](Field x, Field) { return ops::Math<Field>::erf(x); }, a, a);
  }
  static S tanh(const S& a) {
    return call([](Field x, Field) { return ops::Math<Field>::tanh(x); }, a, a);
  }
  static S sqrt(const S& a) {
    return call([](Field x, Field) { return ops::Math<Field>::sqrt(x); }, a, a);
  }
  static S pow(const S& a, const S& b) {
    return call([](Field x, Field y) { return ops::Math<Field>::pow(x, y); }, a, b);
  }
  static S sqrt_two() { return Recording::current().constant(ops::Math<Field>::sqrt_two()); }

 private:
  static S call(Recording::Function function, const S& a, const S& b) {
    return Recording::current().call(function, a, b);
  }
};

}  // namespace taso::generator

namespace taso::ops {

template <>
struct Math<generator::Recorded> : generator::RecordedMath {};

}  // namespace taso::ops
