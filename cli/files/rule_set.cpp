#include "cli/files/rule_set.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/files/proved_record.h"
#include "ops/support/data_files.h"
#include "ops/text/spelling.h"
#include "rules/instance/float_class.h"
#include "rules/language/canonical.h"
namespace taso::cli {
namespace {

constexpr const char* partial_rules = "partial.rules";
Prover chosen_prover{};

/// The shipped rules: the generated ones, those written by hand, and the corrected programs. Empty if there are none.
std::vector<std::filesystem::path> shipped_rules() {
  const auto found = find_data_file("rules/taso.rules");
  if (!found) return {};
  std::vector<std::filesystem::path> files{*found};
  std::error_code error;
  for (const char* const name : {"networks.rules", partial_rules})
    if (const auto more = found->parent_path() / name; std::filesystem::exists(more, error)) files.push_back(more);
  return files;
}

void leave_out(std::vector<GivenRule>& rules, const std::vector<std::string>& disabled) {
  std::unordered_set<std::string_view> known;
  std::vector<std::string> names;
  for (const GivenRule& one : rules)
    if (known.insert(one.rule.name).second) names.push_back(one.rule.name);
  for (const std::string& name : disabled) {
    if (known.contains(name)) continue;
    const std::string meant = did_you_mean(name, names);
    throw UsageError(fmt::format("--disable-rule: unknown rule '{}'{}", on_one_line(name),
                                 meant.empty() ? "; --list-rules prints the known ones" : meant));
  }
  const std::unordered_set<std::string_view> unwanted(disabled.begin(), disabled.end());
  std::erase_if(rules, [&](const GivenRule& one) { return unwanted.contains(one.rule.name); });
}

/// Steps of a certificate name their rule, so an added rule must not reuse a name. One that says the same is left out.
void check_names(RuleSet& set, std::size_t usual) {
  std::unordered_map<std::string_view, const GivenRule*> known;
  std::set<const GivenRule*> repeated;
  for (const GivenRule& one : set.rules) {
    const auto [other, is_new] = known.emplace(one.rule.name, &one);
    if (is_new || one.file < usual) continue;
    if (other->second->file >= usual || !one.rule.same_statement(other->second->rule))
      throw InputError(fmt::format("{}: rule '{}' already exists in {}", place_of(one, set.files), one.rule.name,
                                   place_of(*other->second, set.files)));
    repeated.insert(&one);
  }
  std::vector<GivenRule> kept;
  for (GivenRule& one : set.rules)
    if (!repeated.contains(&one)) kept.push_back(std::move(one));
  set.rules = std::move(kept);
}

/// Stores what is recorded of the rules of one file; ignores it if the number does not match.
void note_record(const ProvedFile& record, std::size_t file, std::vector<GivenRule>& rules) {
  std::vector<GivenRule*> of_file;
  for (GivenRule& one : rules)
    if (one.file == file) of_file.push_back(&one);
  const std::string& digits = record.float_classes;
  if (digits.size() == of_file.size())
    for (std::size_t i = 0; i < digits.size(); ++i) of_file[i]->float_class = rules::float_class_of(digits[i]);
  if (record.by.size() == of_file.size())
    for (std::size_t i = 0; i < record.by.size(); ++i) of_file[i]->by = record.by[i];
}

}  // namespace

bool RuleSet::is_proved() const { return std::find(proved.begin(), proved.end(), false) == proved.end(); }

std::string hash_of_rules(const std::vector<rules::Rule>& rules) {
  std::string text;
  for (const rules::Rule& rule : rules) text += rules::content_hash(rule) + "\n";
  return rules::hash_of_text(text);
}

RuleSet read_rule_set(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& disabled,
                      const std::vector<std::filesystem::path>& extra, bool has_partial) {
  RuleSet set;
  for (const auto& file : files.empty() ? shipped_rules() : files) set.files.push_back(read_rules(file));
  if (set.files.empty()) throw EnvironmentError("cannot find the shipped rules; name a file with --rules");
  const std::size_t usual = set.files.size();
  for (const auto& file : extra) set.files.push_back(read_rules(file));
  set.extra = extra.size();
  set.rules = rules_of(set.files);
  for (const GivenRule& one : set.rules)
    if (one.rule.kind == rules::Rule::Kind::axiom)
      throw InputError(fmt::format("{}: '{}' is a property, not a rule", place_of(one, set.files), one.rule.name));
  if (!extra.empty()) check_names(set, usual);
  const auto record = shipped_record();
  std::vector<std::string> hashes;
  for (std::size_t i = 0; i < set.files.size(); ++i) {
    const GivenFile& file = set.files[i];
    const ProvedFile* known = record ? record->find(file.source.text()) : nullptr;
    set.proved.push_back(known != nullptr);
    hashes.push_back(known != nullptr ? known->rules_hash : hash_of_rules(file.rules.rules()));
    if (known != nullptr) note_record(*known, i, set.rules);
  }
  set.hash = hashes.size() == 1 ? hashes[0] : rules::hash_of_text(fmt::format("{}", fmt::join(hashes, "\n")));
  leave_out(set.rules, disabled);
  if (files.empty() && !has_partial)
    std::erase_if(set.rules, [&](const GivenRule& one) {
      return one.file < usual && std::filesystem::path(set.files[one.file].source.name()).filename() == partial_rules;
    });
  for (const GivenRule& one : set.rules)
    if (!one.unstated.empty())
      throw InputError(fmt::format("{}: rule '{}' cannot be stated: {}; --disable-rule leaves it out",
                                   place_of(one, set.files), one.rule.name, one.unstated));
  return set;
}

std::string describe_rules() {
  if (shipped_rules().empty()) return "none";
  try {
    const RuleSet set = read_rule_set({}, {});
    return fmt::format("{} ({}{})", set.hash, set.rules.size(), set.is_proved() ? "" : ", not known to be proved");
  } catch (const InputError& error) {
    return fmt::format("cannot be read: {}", on_one_line(error.what()));
  }
}

std::string print(const RuleSet& set) {
  rules::RuleFile file;
  for (const GivenRule& one : set.rules) {
    rules::Rule rule = one.rule;
    rule.comments.push_back("float: " + rules::text_of(one.float_class ? *one.float_class : rules::float_class(rule)));
    file.items.emplace_back(std::move(rule));
  }
  return rules::print(file);
}

void use_prover(Prover prover) { chosen_prover = prover; }

std::string prover_version() { return chosen_prover.version != nullptr ? chosen_prover.version() : "not built in"; }

SearchRules prove(const RuleSet& set, unsigned jobs, Console& console, bool anew) {
  SearchRules result;
  result.hash = set.hash;
  std::vector<GivenRule> open;
  std::unordered_set<std::string_view> names;
  for (const GivenRule& one : set.rules) {
    result.rules.push_back(one.rule);
    if (!names.insert(one.rule.name).second) {
      result.float_classes.erase(one.rule.name);  // ambiguous: two rules have this name
      result.by.erase(one.rule.name);
    } else {
      if (one.float_class) result.float_classes.emplace(one.rule.name, *one.float_class);
      if (!one.by.empty()) result.by.emplace(one.rule.name, one.by);
    }
    if (one.file + set.extra >= set.files.size()) ++result.extra;
    if (anew || !set.proved[one.file]) open.push_back(one);
  }
  if (open.empty()) return result;
  if (chosen_prover.prove != nullptr) {
    Proofs proofs = chosen_prover.prove(open, set.files, jobs, console, anew);
    result.failures = std::move(proofs.failures);
    result.interrupted = proofs.interrupted;
    return result;
  }
  // One line for each file that has unproved rules.
  std::set<std::size_t> files;
  for (const GivenRule& one : open)
    if (files.insert(one.file).second)
      result.failures.push_back(fmt::format("{}: not a shipped, proved rule file, and there is no prover here",
                                            on_one_line(set.files[one.file].source.name())));
  return result;
}

}  // namespace taso::cli
