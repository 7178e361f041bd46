// The outcome of a rule as bytes, to be sent from one rank of a cluster to the others.
#pragma once

#include <string>

#include "cli/verify/results.h"

namespace taso::cli {

/// `rule` is the rule that the result is about.
std::string bytes_of(const RuleResult& result, const rules::Rule& rule);
RuleResult result_from(const std::string& bytes);

}  // namespace taso::cli
