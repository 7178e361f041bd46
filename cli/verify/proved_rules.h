// Proves the rules that a program will use.
#pragma once

#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_input.h"

namespace taso::cli {

struct Proofs {
  std::vector<std::string> failures;  ///< one line for each rule that is not proved
  bool interrupted = false;           ///< before all were decided
};

/// Uses known proofs, of earlier runs or of taso-verify, unless `anew`. The rules come from these files.
Proofs prove_rules(const std::vector<GivenRule>& rules, const std::vector<GivenFile>& files, unsigned jobs,
                   Console& console, bool anew = false);

}  // namespace taso::cli
