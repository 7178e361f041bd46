// taso-opt --bisect: finds the rewrite after which the outputs differ by more than a tolerance.
#pragma once

#include "cli/console/console.h"
#include "cli/console/exit_code.h"
#include "cli/opt/settings.h"

namespace taso::cli {

/// Replays the certificate of an earlier run, options.output, on random inputs. Ends with `check_failed` if a rewrite,
/// or the clean-ups before them, exceed the tolerance. Writes nothing but the report.
ExitCode bisect(const OptSettings& options, Console& console);

}  // namespace taso::cli
