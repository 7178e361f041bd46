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
  std::vector<const Network*> networks;  ///< the networks to write or list
  std::filesystem::path output;          ///< the file for a single network
  std::filesystem::path folder;          ///< the folder for all networks, with --all
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

/// The parts of the variant that apply to a network; with --all, sizes apply to the networks that have them.
Variant variant_for(const Settings& settings, const Network& network);

}  // namespace taso::examples
