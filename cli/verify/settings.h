// The command line of taso-verify.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "verifier/verify.h"

namespace taso::cli {

struct VerifySettings {
  std::vector<std::filesystem::path> files;          ///< "-" is the standard input; with a certificate, the two models
  std::optional<std::filesystem::path> certificate;  ///< of a rewritten model, to be replayed
  std::vector<std::filesystem::path> rules;          ///< of the certificate; none: those that come with taso
  std::vector<std::filesystem::path> extra_rules;    ///< in addition
  std::optional<std::filesystem::path> properties;   ///< nothing: those that the program ships with
  bool properties_only = false;
  bool redundant = false;  ///< also which properties follow from the others
  verifier::VerifyOptions proving;
  unsigned jobs = 0;  ///< 0: one for each processor

  std::optional<std::filesystem::path> report, junit, certificates;
  std::optional<std::filesystem::path> record;  ///< of what was proved, for programs that trust it
  std::optional<std::string> second_prover;
  bool use_cache = true;
  std::optional<std::filesystem::path> cache;  ///< nothing: the user's own
  Console::Options console;

  bool keeps_certificates() const { return certificates || second_prover; }
};

struct VerifyCommand {
  enum class Kind { verify, certificate, print, help, version };
  Kind kind = Kind::verify;
  VerifySettings settings;  ///< complete for `verify`, `certificate` and `print`
  std::string help;         ///< the text to print for `help`
};

/// Throws UsageError.
VerifyCommand parse_verify_command(int argc, const char* const* argv);

/// That nothing written replaces something read or something else written. Throws UsageError.
void check_places(const VerifySettings& settings);

}  // namespace taso::cli
