// The command line of taso-networks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "examples/networks/networks.h"

namespace taso::examples {

struct Settings {
  std::vector<const Network*> networks;  ///< what to write, or to list
  std::filesystem::path output;          ///< of the one network that was named
  std::filesystem::path folder;          ///< of all of them, with --all
  BuilderOptions building;
  Variant variant;
  cli::Console::Options console;
};

struct Command {
  enum class Kind { write, list, help, version };
  Kind kind = Kind::write;
  Settings settings;
  std::string help;  ///< the text to print for `help`
};

/// Throws UsageError.
Command parse_command(int argc, const char* const* argv);

/// What of the variant concerns a network; with --all, sizes are for those that have them.
Variant variant_for(const Settings& settings, const Network& network);

}  // namespace taso::examples
