// Rules that a program is to use, proved before anything is done with them.
#pragma once

#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_input.h"

namespace taso::cli {

struct Proofs {
  std::vector<std::string> failures;  ///< a line for each rule that is not proved
  bool interrupted = false;           ///< before all were decided
};

/// Proofs that are known already, from this or from taso-verify, are not made again, unless it is to be done `anew`. The rules
/// come from these files.
Proofs prove_rules(const std::vector<GivenRule>& rules, const std::vector<GivenFile>& files, unsigned jobs,
                   Console& console, bool anew = false);

}  // namespace taso::cli
