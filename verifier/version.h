// The version of Z3 that checks the proofs, for `--version`.
#pragma once

#include <string>

namespace taso::verifier {

/// Incremented with every change that may alter a verdict. Cached proofs are only valid for the same revision.
constexpr unsigned verifier_revision = 10;

std::string z3_version();

}  // namespace taso::verifier
