// Searches for a counterexample to a rule: numbers for its unknowns and for the elements of its inputs at which the two
// sides differ, the target is undefined but the source is not, or the target is not well-formed.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/concrete.h"

namespace taso::verifier {

struct Counterexample {
  std::size_t instance = 0;  ///< index in the list
  rules::Assignment assignment;
  std::vector<Extents> shapes;  ///< of the inputs
  /// Why the target is not well-formed or has results of other shapes, in one sentence; empty if the results differ.
  std::string misfit;
  // The rest is set only if the results differ:
  std::vector<Tensor<double>> inputs, source, target;
  std::size_t result = 0;     ///< the first result that differs
  std::size_t place = 0;      ///< its element, in row-major order
  bool is_undefined = false;  ///< one side is undefined there: the target, or for an axiom either
};

struct RefuteOptions {
  std::uint64_t seed = 1;
  std::size_t tries = 400;      ///< in total; but every instance is tried twice
  std::size_t tries_each = 60;  ///< per instance
  double most_work = 1e6;       ///< operations per try: larger assignments are skipped
  bool shrink = true;
  bool both_ways = false;  ///< for an axiom: the source must be defined wherever the target is, too
  std::stop_token stop = {};
};

struct Refutation {
  std::optional<Counterexample> counterexample;
  /// For each instance, numbers that satisfy its hypotheses; nothing if none were found.
  std::vector<std::optional<rules::Assignment>> witnesses;
  std::size_t tried = 0;
  /// The number of differences in the prime field that real numbers did not confirm: functions such as exp obey laws
  /// that do not hold in the field.
  std::size_t only_in_field = 0;
};

/// Deterministic for the same instances and options. Reported differences exceed all rounding errors.
Refutation refute(const std::vector<rules::Instance>& instances, const RefuteOptions& options = {});

/// The counterexample as text that a person can follow.
std::string text_of(const Counterexample& counterexample, const rules::Instance& instance);

}  // namespace taso::verifier
