// Which Z3 the proofs are checked with, for `--version`.
#pragma once

#include <string>

namespace taso::verifier {

/// Raised with every change that may change a verdict: proofs that are kept between runs count for one number only.
constexpr unsigned verifier_revision = 10;

std::string z3_version();

}  // namespace taso::verifier
