// Enumerates everything that a family computes with up to N operators, value by value: larger terms are built on one
// representative of each value, and whenever a term turns out to compute what another does, that is an equality.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "generator/enumeration/values.h"
#include "generator/enumeration/world.h"
#include "generator/selection/small_term.h"

namespace taso::generator {

struct EnumerateOptions {
  std::size_t max_operators = 3;
  std::uint64_t seed = 1;
  Contents contents = Contents::field;
  std::size_t memory_limit = std::size_t{4} << 30;  ///< beyond it, what can be goes to temporary files
  unsigned jobs = 1;
  std::stop_token stop;
  std::function<void(std::size_t level, std::size_t values)> watch;
};

/// A form that computes a value which another form computes already; with `second`, both results of a split are values
/// that are known.
struct Found {
  static constexpr ValueId none = ~ValueId{0};
  ValueId known = 0, second = none;
  Form form;
  auto operator<=>(const Found&) const = default;
};

/// Other forms of values are kept for so many levels, and for all before the last.
constexpr std::size_t levels_of_forms = 3;

struct Enumeration {
  std::uint64_t evaluations = 0;
  double graphs = 0;  ///< that the values stand for
  std::uint64_t values = 0;
  std::uint64_t equalities = 0;  ///< found on the way, inputs named
  Values table;                  ///< all values but those of the last level that are computed in one way only
  std::vector<Found> found;      ///< up to the names of inputs
  struct Other {
    ValueId value = 0;
    Form form;
    std::uint8_t level = 0;  ///< the operators that it takes
  };
  std::vector<Other> forms;   ///< other forms of values, under all names, for as many levels as there is room for
  std::size_t memory = 0;     ///< bytes held at most
  std::uint64_t spilled = 0;  ///< records that went to temporary files
  bool complete = true;
};

/// The result is the same at any number of jobs.
Enumeration enumerate(const Family& family, const EnumerateOptions& options);

/// What was found as terms that stand by themselves, inputs renamed in the order of first use.
Equality equality_of(const Found& found, const Values& values);
}  // namespace taso::generator
