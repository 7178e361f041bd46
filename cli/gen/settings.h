// The command line of taso-gen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "verifier/verify.h"

namespace taso::cli {

struct GenSettings {
  std::filesystem::path output;
  std::string operators = "full";  ///< names of sets and operators, with commas between them
  bool names_operators = false;    ///< false: that is the default
  std::optional<std::filesystem::path> operator_sets, properties;  ///< nothing: those that the program ships with
  std::size_t max_operators = 4;
  std::uint64_t seed = 1;
  unsigned jobs = 0;  ///< 0: one for each processor
  std::size_t memory_limit = std::size_t{4} << 30;
  verifier::VerifyOptions proving;
  bool selects = true;                          ///< false: all that is proved is written
  std::optional<std::filesystem::path> stated;  ///< nothing: the rules by hand that the program ships with

  std::optional<std::filesystem::path> report, rejected;
  std::filesystem::path checkpoint;  ///< beside the output, unless another is named
  bool resume = false;
  Console::Options console;
};

struct GenCommand {
  enum class Kind { generate, list_operators, help, version };
  Kind kind = Kind::generate;
  GenSettings settings;  ///< complete for `generate`; for `list_operators`, the sets
  std::string help;      ///< the text to print for `help`
};

/// Throws UsageError.
GenCommand parse_gen_command(int argc, const char* const* argv);

/// Where a run that was cut short puts what it has, if there is a file already that may be complete.
std::filesystem::path part_of(const std::filesystem::path& complete);

/// The rules by hand that nothing found is to repeat: those that are named, or that come with taso, if there are any.
std::optional<std::filesystem::path> stated_path(const GenSettings& settings);

/// That nothing written replaces something read or something else written. Throws UsageError.
void check_places(const GenSettings& settings);

}  // namespace taso::cli
