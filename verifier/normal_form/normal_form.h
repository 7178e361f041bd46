// The second prover: writes both sides of an instance as sums of guarded iterated sums over the inputs' elements, and
// compares them term by term. It uses no properties, only the meaning of operators, and proves for all sizes and
// attributes at once.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "rules/instance/instance.h"
#include "verifier/normal_form/any_function.h"

namespace taso::verifier {

struct NormalFormLimits {
  std::size_t steps = 200'000;  ///< of the prover itself
  unsigned effort = 800'000;    ///< Z3's step limit for one question
  std::stop_token stop = {};
  std::vector<AnyFunction> any_functions = {};  ///< operators that stand for all of their class
};

struct NormalFormResult {
  enum Kind {
    proved,  ///< equal for all unknowns that satisfy the hypotheses and all real contents; the obligations hold too
    unknown,
  };
  Kind kind = unknown;
  std::string reason;  ///< why it is unknown
};

NormalFormResult prove_by_normal_form(const rules::Instance& instance, const NormalFormLimits& limits = {});

/// low <= index < high
struct Interval {
  Dim low, high;
  bool operator==(const Interval&) const = default;
};

/// Proves the equality of the only result at the positions of a box: one interval for each axis. Positions outside the
/// result do not count.
NormalFormResult prove_within(const rules::Instance& instance, const std::vector<Interval>& box,
                              const NormalFormLimits& limits = {});

/// Whether each element of the source's result is computed from the inputs' elements at its own index, in the same way
/// everywhere.
NormalFormResult prove_element_wise(const rules::Instance& instance, const NormalFormLimits& limits = {});

/// Both sides of each result as the prover sees them, for a person to read.
std::string normal_form_text(const rules::Instance& instance);

}  // namespace taso::verifier
