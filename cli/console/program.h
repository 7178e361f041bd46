// The main() shared by all programs: console set-up, error reporting and exit codes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/console/console.h"
#include "cli/console/exit_code.h"

namespace taso::cli {

/// Prints data that was asked for on stdout.
ExitCode print(const std::string& text);

/// Opens the console and runs `work` with it. Call it once interrupts are handled.
ExitCode run_with_console(const Console::Options& options, std::optional<Console>& console,
                          const std::function<ExitCode(Console&)>& work);

/// Another process of this job tells what all of them would: this one prints no data, and an error only if the job goes
/// on, because then the others did not make it.
void speak_after_another();

/// Runs a program and returns its exit code. `run` creates the console as soon as it knows the options.
int run_program(const std::string& name, const std::function<ExitCode(std::optional<Console>& console)>& run);

}  // namespace taso::cli
