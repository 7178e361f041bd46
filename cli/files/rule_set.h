// The rules that a search is to use: those that come with taso, or those of the files that it is given. A file counts as
// proved if the record that comes with taso names its very bytes; the rules of all others are proved before they are used.
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
  std::vector<GivenRule> rules;  ///< without those that are disabled
  std::string hash;              ///< of all rules of the files
  std::size_t extra = 0;         ///< how many of the files, the last, were added to the others

  bool is_proved() const;  ///< whether all files are
};

/// Without files, those that come with taso; those of `extra` in any case, behind them. Throws UsageError if a rule is disabled
/// that is not there, EnvironmentError if nothing comes with taso, InputError for files that hold anything but rules, or rules
/// of one name.
RuleSet read_rule_set(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& disabled,
                      const std::vector<std::filesystem::path>& extra = {});

/// Of what they say, in this order; names do not count.
std::string hash_of_rules(const std::vector<rules::Rule>& rules);
/// Hash and number of the rules that come with taso, for `--version`; says so if they are not known to be proved.
std::string describe_rules();
/// A file of the rules that are left, for `--list-rules`.
std::string print(const RuleSet& set);

struct SearchRules {
  std::vector<rules::Rule> rules;
  std::size_t extra = 0;  ///< how many of them, the last, were added to the others
  std::string hash;
  std::map<std::string, rules::FloatClass> float_classes;  ///< of those of which it is known, by name
  std::vector<std::string> failures;                       ///< a line for each that is not proved
  bool interrupted = false;                                ///< before all were decided
};

/// Proves what is not known to be proved; with `anew` everything, whatever is known. In a build without a prover, each file
/// that has such rules is a failure.
SearchRules prove(const RuleSet& set, unsigned jobs, Console& console, bool anew = false);

}  // namespace taso::cli
