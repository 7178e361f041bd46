// What is done with every command line, before its options are looked at.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace taso::cli {

/// Takes it apart into what the app declares. The text to print if help was asked for, else nothing. Throws UsageError, also
/// for an option that is given nothing.
std::optional<std::string> take_apart(CLI::App& app, int argc, const char* const* argv);

}  // namespace taso::cli
