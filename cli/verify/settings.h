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
  std::optional<std::filesystem::path> certificate;  ///< of a rewritten model, to replay
  std::vector<std::filesystem::path> rules;          ///< of the certificate; if empty, the shipped ones
  std::vector<std::filesystem::path> extra_rules;    ///< in addition
  std::optional<std::string> explained;              ///< a rule's name or number; with a certificate, any text
  std::optional<std::filesystem::path> properties;   ///< if missing, the shipped ones
  bool properties_only = false;
  bool redundant = false;  ///< also find which properties follow from the others
  verifier::VerifyOptions proving;
  unsigned jobs = 0;  ///< 0: one for each processor

  std::optional<std::filesystem::path> report, junit, certificates;
  std::optional<std::filesystem::path> record;  ///< where to record proved files, for programs that trust the record
  std::optional<std::string> second_prover;
  bool use_cache = true;
  std::optional<std::filesystem::path> cache;  ///< if missing, the user's own
  Console::Options console;

  bool keeps_certificates() const { return certificates || second_prover; }
};

struct VerifyCommand {
  enum class Kind { verify, agreement, explain, certificate, print, help, version };
  Kind kind = Kind::verify;
  VerifySettings settings;  ///< complete for all but `help` and `version`
  std::string help;         ///< the text to print for `help`
};

/// Throws UsageError.
VerifyCommand parse_verify_command(int argc, const char* const* argv);

/// Throws UsageError if a written file would replace a file that is read or another written file.
void check_places(const VerifySettings& settings);

}  // namespace taso::cli
