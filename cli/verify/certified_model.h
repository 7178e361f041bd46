// taso-verify --certificate: checks that one model is the other, rewritten by proved rules.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/verify/settings.h"

namespace taso::cli {

/// Says in one line why a certificate is rejected. Throws InputError for files that cannot be read.
ExitCode check_certificate(const VerifySettings& settings, Console& console);

}  // namespace taso::cli
