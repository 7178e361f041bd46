// Looks for a counterexample to a rule: numbers for its unknowns and for the elements of its inputs at which the two
// sides differ, at which the target has no value and the source has one, or at which the target is not well-formed.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/concrete.h"

namespace taso::verifier {

struct Counterexample {
  std::size_t instance = 0;  ///< its place in the list
  rules::Assignment assignment;
  std::vector<Extents> shapes;  ///< of the inputs
  /// A sentence that says why the target is not well-formed, or has results of other shapes; empty if the results
  /// differ.
  std::string misfit;
  // The rest only if the results differ:
  std::vector<Tensor<double>> inputs, source, target;
  std::size_t result = 0;     ///< the first result that differs
  std::size_t place = 0;      ///< and where, in row-major order
  bool is_undefined = false;  ///< one side has no value there: the target, or either of an axiom
};

struct RefuteOptions {
  std::uint64_t seed = 1;
  std::size_t tries = 400;      ///< in all, but every instance is tried twice
  std::size_t tries_each = 60;  ///< of one instance
  double most_work = 1e6;       ///< operations of one try: larger assignments are passed over
  bool shrink = true;
  bool both_ways = false;  ///< of an axiom, the source has to have a value wherever the target has one, too
  std::stop_token stop = {};
};

struct Refutation {
  std::optional<Counterexample> counterexample;
  /// For each instance, numbers that meet its hypotheses; nothing if none were found.
  std::vector<std::optional<rules::Assignment>> witnesses;
  std::size_t tried = 0;
  /// How often the prime field saw a difference that real numbers did not confirm: functions such as exp have laws
  /// there that the field does not know.
  std::size_t only_in_field = 0;
};

/// The same for the same instances and options. Results that differ do so beyond all rounding errors.
Refutation refute(const std::vector<rules::Instance>& instances, const RefuteOptions& options = {});

/// In a form that a person can follow.
std::string text_of(const Counterexample& counterexample, const rules::Instance& instance);

}  // namespace taso::verifier
