// Parses the command line of every program.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace taso::cli {

/// Parses the command line with the options of the app, and with --config and --dump-config. Returns the text to print
/// if help, the configuration, or by --generate a manual (cli/manual/manual.h) was asked for, else nothing. Throws
/// UsageError, also for an option with an empty value or with none of its choices; InputError for a configuration file
/// that cannot be read or names an unknown option.
std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv);

/// A message that begins with an option, with the configuration file before it that the option's value was read from.
std::string with_origin(const std::string& message);

/// The values of an option that has fixed ones, which its type names: `auto|always|never`, or `fp32|fp16,...` if it
/// takes a list. Empty for all others.
std::vector<std::string> choices_of(const CLI::Option& option);

/// The words of a text in lines of at most 80 columns; the first begins with `line`, each other with `indent`.
std::string wrapped(const std::string& text, std::string line, const std::string& indent);

}  // namespace taso::cli
