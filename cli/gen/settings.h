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
  std::string operators = "full";                                  ///< names of sets and operators, separated by commas
  bool names_operators = false;                                    ///< false: they are the default
  std::optional<std::filesystem::path> operator_sets, properties;  ///< nothing: the shipped ones
  std::size_t max_operators = 4;
  std::uint64_t seed = 1;
  unsigned jobs = 0;  ///< 0: one for each processor
  std::size_t memory_limit = std::size_t{4} << 30;
  verifier::VerifyOptions proving;
  bool selects = true;                          ///< false: everything proved is written
  std::optional<std::filesystem::path> stated;  ///< nothing: the shipped rules written by hand

  bool is_partial = false;         ///< finds corrected programs instead
  double least_share = 0.5;        ///< of the output on which they are right without correction
  std::vector<std::string> kinds;  ///< of such programs; empty: all

  std::optional<std::filesystem::path> report, rejected;
  std::filesystem::path checkpoint;  ///< beside the output, unless another is named
  bool resume = false;
  std::string shown;                               ///< for `show`: a rule's name or number
  std::vector<std::filesystem::path> shown_files;  ///< where it is; empty: the shipped rules
  Console::Options console;
};

struct GenCommand {
  enum class Kind { generate, show, list_operators, help, version };
  Kind kind = Kind::generate;
  GenSettings settings;  ///< complete for `generate` and `show`; for `list_operators`, the sets
  std::string help;      ///< the text to print for `help`
};

/// Throws UsageError.
GenCommand parse_gen_command(int argc, const char* const* argv);

/// Where an interrupted run writes its results if there is a file that may be complete.
std::filesystem::path part_of(const std::filesystem::path& complete);

/// The folder of the stages that belong to a checkpoint.
std::filesystem::path stages_of(const std::filesystem::path& checkpoint);

/// The rules written by hand that results must not repeat: the named file, or the shipped one, if there is one.
std::optional<std::filesystem::path> stated_path(const GenSettings& settings);

/// Throws UsageError if a written file would replace a file that is read or another written file.
void check_places(const GenSettings& settings);

}  // namespace taso::cli
