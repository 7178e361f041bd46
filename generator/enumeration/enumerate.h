// Enumerates everything that a family computes with up to N operators, value by value. Larger terms are built on one
// representative of each value; a term that computes a known value is an equality.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "generator/enumeration/sample_inputs.h"
#include "generator/enumeration/values.h"
#include "generator/selection/small_term.h"
#include "generator/stages.h"
#include "ops/cluster/communicator.h"

namespace taso::generator {

struct EnumerateOptions {
  std::size_t max_operators = 3;
  std::uint64_t seed = 1;
  Contents contents = Contents::field;
  std::size_t memory_limit = std::size_t{4} << 30;  ///< above it, data goes to temporary files where possible
  unsigned jobs = 1;
  Communicator* ranks = nullptr;  ///< null: one. Each holds all values, and its share of the results of a level
  StageStore stages;              ///< keeps levels that took many evaluations
  std::stop_token stop;
  std::function<void(std::size_t level, std::size_t values)> watch;
};

/// A form that computes a known value. With `second`, both results of a split are known values.
struct Found {
  static constexpr ValueId none = ~ValueId{0};
  ValueId known = 0, second = none;
  Form form;
  auto operator<=>(const Found&) const = default;
};

/// Alternative forms of values are kept for this many levels, and for all levels before the last.
constexpr std::size_t levels_of_forms = 3;

struct Enumeration {
  std::uint64_t evaluations = 0;
  double graphs = 0;  ///< represented by the values
  std::uint64_t values = 0;
  std::uint64_t equalities = 0;  ///< found on the way, counting each naming of inputs
  Values table;                  ///< all values, except those of the last level that have one form only
  std::vector<Found> found;      ///< up to renaming of inputs
  struct Other {
    ValueId value = 0;
    Form form;
    std::uint8_t level = 0;  ///< number of operators
  };
  std::vector<Other> forms;   ///< alternative forms, for all namings of inputs, for as many levels as memory allows
  std::size_t memory = 0;     ///< peak bytes
  std::uint64_t spilled = 0;  ///< records written to temporary files
  bool complete = true;
};

/// The result is the same at any number of jobs and ranks, on every rank.
Enumeration enumerate(const Family& family, const EnumerateOptions& options);

/// The stage under which a level is kept.
std::string level_stage(std::size_t level);

/// The equality as standalone terms, with inputs renamed in the order of first use.
Equality equality_of(const Found& found, const Values& values);
}  // namespace taso::generator
