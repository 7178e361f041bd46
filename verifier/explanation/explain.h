// A verdict on a rule as text that a person can follow: the steps of a proof, or the counterexample drawn out.
#pragma once

#include <stop_token>
#include <string>

#include "verifier/verify.h"

namespace taso::verifier {

struct Explanation {
  RuleVerdict verdict;
  std::string text;  ///< several lines
};

/// Decides the rule as verify() does, and says why.
Explanation explain(const rules::Rule& rule, const rules::Properties& properties, const VerifyOptions& options = {},
                    const std::stop_token& stop = {});

}  // namespace taso::verifier
