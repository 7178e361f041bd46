// Parses the command line of every program.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace taso::cli {

/// Parses the command line with the options of the app. Returns the help text if help was asked for, or the text of
/// --generate (cli/manual/manual.h), else nothing.
/// Throws UsageError, also for an option with an empty value.
std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv);

}  // namespace taso::cli
