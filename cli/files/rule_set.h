// The rules that a search uses: the shipped ones, or those of the given files. A file counts as proved if the shipped
// record contains its exact bytes; the rules of all other files are proved before they are used.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/files/rule_input.h"

namespace taso::cli {

struct RuleSet {
  std::vector<GivenFile> files;
  std::vector<bool> proved;      ///< by file
  std::vector<GivenRule> rules;  ///< without the disabled ones
  std::string hash;              ///< of all rules in the files
  std::size_t extra = 0;         ///< how many files, at the end, were added by --extra-rules

  bool is_proved() const;  ///< whether all files are proved
};

/// Reads the shipped rules if `files` is empty, and then the `extra` files. Without `has_partial`, the shipped rules of
/// corrected programs are left out; the hash stays the same. Throws UsageError if a disabled rule does
/// not exist, EnvironmentError if the shipped rules are missing, InputError for files with anything but rules, or for
/// duplicate names.
RuleSet read_rule_set(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& disabled,
                      const std::vector<std::filesystem::path>& extra = {}, bool has_partial = true);

/// Hashes the contents of the rules in this order, without their names.
std::string hash_of_rules(const std::vector<rules::Rule>& rules);
/// Hash and number of the shipped rules, for `--version`; says so if they are not known to be proved.
std::string describe_rules();
/// The remaining rules as a rule file, for `--list-rules`.
std::string print(const RuleSet& set);

struct SearchRules {
  std::vector<rules::Rule> rules;
  std::size_t extra = 0;  ///< how many of them, at the end, were added by --extra-rules
  std::string hash;
  std::map<std::string, rules::FloatClass> float_classes;  ///< by rule name, if known
  std::map<std::string, std::vector<std::string>> by;      ///< by rule name: by what it was proved, if only recorded
  std::vector<std::string> failures;                       ///< one line for each rule that is not proved
  bool interrupted = false;                                ///< before all were decided
};

struct Proofs {
  std::vector<std::string> failures;  ///< one line for each rule that is not proved
  bool interrupted = false;           ///< before all were decided
};
struct Prover {
  std::string (*version)();
  /// See cli/verify/proved_rules.h.
  Proofs (*prove)(const std::vector<GivenRule>& rules, const std::vector<GivenFile>& files, unsigned jobs,
                  Console& console, bool anew);
};
/// Programs have a prover if they are built with Z3 (cli/verify/with_prover.cpp). The library for other programs has
/// none, so that it does not need Z3.
void use_prover(Prover prover);
/// Of Z3.
std::string prover_version();

/// Proves the rules that are not known to be proved; with `anew`, all rules. Without a prover, each file with such
/// rules is a failure.
SearchRules prove(const RuleSet& set, unsigned jobs, Console& console, bool anew = false);

}  // namespace taso::cli
