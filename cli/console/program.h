// What is around every program: how it starts to speak, what becomes of trouble, and the exit code.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/console/console.h"
#include "cli/console/ending.h"

namespace taso::cli {

/// Data that was asked for, on stdout.
Ending print(const std::string& text);

/// Opens the console and runs the program's work with it, from where an interrupt is seen on.
Ending run_with_console(const Console::Options& options, std::optional<Console>& console,
                        const std::function<Ending(Console&)>& work);

/// The exit code. `run` makes the console as soon as it knows how.
int run_program(const std::string& name, const std::function<Ending(std::optional<Console>& console)>& run);

}  // namespace taso::cli
