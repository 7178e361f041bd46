// Rules that a program is to use: read from files, and proved before anything is done with them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/console.h"
#include "rules/rule.h"

namespace taso {

struct ProvedRules {
  std::vector<Rule> rules;
  std::string hash;                   ///< of all of them
  std::vector<std::string> failures;  ///< a line for each that is not proved
  bool interrupted = false;           ///< before all were decided
};

/// Proofs that are known already, from this or from taso-verify, are not made again. Throws InputError for what is not a
/// rule file, or holds properties.
ProvedRules read_proved_rules(const std::vector<std::filesystem::path>& files, unsigned jobs, Console& console);

}  // namespace taso
