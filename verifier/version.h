// Which Z3 the proofs are checked with, for `--version`.
#pragma once

#include <string>

namespace taso {

std::string z3_version();

}  // namespace taso
