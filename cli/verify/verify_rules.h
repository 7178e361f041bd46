// The work of taso-verify from the first file read to the last line said.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/ending.h"
#include "cli/verify/settings.h"

namespace taso {

Ending verify_rules(const VerifySettings& settings, Console& console);
/// The rules of all files as one rule file.
std::string print_rules(const VerifySettings& settings);
/// Of the properties that come with taso, and how many there are; says so if they cannot be read.
std::string describe_properties();

}  // namespace taso
