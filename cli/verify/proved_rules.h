// Proves the rules that a program will use.
#pragma once

#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_set.h"

namespace taso::cli {

/// Uses known proofs, of earlier runs or of taso-verify, unless `anew`. The rules come from these files.
Proofs prove_rules(const std::vector<GivenRule>& rules, const std::vector<GivenFile>& files, unsigned jobs,
                   Console& console, bool anew = false);

}  // namespace taso::cli
