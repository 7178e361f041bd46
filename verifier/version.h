// The revision of the verifier, which decides whether old proofs count, and the version of Z3.
#pragma once

#include <string>

namespace taso::verifier {

/// Incremented with every change that may alter a verdict. Cached proofs are only valid for the same revision.
constexpr unsigned verifier_revision = 12;

std::string z3_version();

}  // namespace taso::verifier
