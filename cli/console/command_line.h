// Parses the command line of every program.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace taso::cli {

/// Parses the command line with the options of the app, and with --config and --dump-config. Returns the text to print
/// if help, the configuration, or by --generate a manual (cli/manual/manual.h) was asked for, else nothing. Throws
/// UsageError, also for an option with an empty value; InputError for a configuration file that cannot be read or names
/// an unknown option.
std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv);

}  // namespace taso::cli
