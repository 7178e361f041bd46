#include "cli/verify/proved_rules.h"

#include <optional>

#include <fmt/format.h>

#include "cli/ending.h"
#include "cli/interrupt.h"
#include "cli/verify/proof_cache.h"
#include "cli/verify/property_file.h"
#include "cli/verify/rule_input.h"
#include "cli/verify/spread.h"
#include "rules/canonical.h"
#include "verifier/verify.h"

namespace taso {

ProvedRules read_proved_rules(const std::vector<std::filesystem::path>& files, unsigned jobs, Console& console) {
  std::vector<GivenFile> given;
  for (const auto& file : files) given.push_back(read_rules(file));
  const std::vector<GivenRule> rules = rules_of(given);
  std::string all;
  std::vector<std::string> hashes;
  for (const GivenRule& one : rules) {
    if (one.rule.kind == Rule::Kind::axiom)
      throw InputError(
          fmt::format("{}: '{}' is a property; a search takes rules", place_of(one, given), one.rule.name));
    hashes.push_back(content_hash(one.rule));
    all += hashes.back() + "\n";
  }

  const std::vector<Rule> axioms = read_properties(properties_path({})).rules.rules();
  const Properties properties(axioms);
  const VerifyOptions options;
  std::optional<ProofCache> cache;
  if (const auto folder = default_cache_folder()) cache.emplace(*folder, hash_of_properties(axioms), options);

  std::vector<std::optional<RuleVerdict>> verdicts(rules.size());
  Spread work;
  work.tasks = rules.size();
  work.jobs = jobs;
  work.work = [&](std::size_t index, const std::stop_token& stop) {
    const Rule& rule = rules[index].rule;
    std::optional<RuleVerdict> verdict = cache ? cache->find(rule, hashes[index]) : std::nullopt;
    if (!verdict) {
      verdict = verify(rule, properties, options, stop);
      if (stop.stop_requested()) return true;  // what was cut short is no verdict
      if (cache) cache->add(rule, hashes[index], *verdict);
    }
    verdicts[index] = std::move(verdict);
    return true;
  };
  work.watch = [] { return interrupted(); };
  spread(work);
  try {
    if (cache) cache->save();
  } catch (const std::exception& error) {
    console.say(Console::Level::detail, fmt::format("proofs are not kept: {}", error.what()));
  }

  ProvedRules result;
  result.hash = hash_of_text(all);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!verdicts[i]) {
      result.interrupted = true;
    } else if (verdicts[i]->kind == RuleVerdict::Kind::proved && verdicts[i]->disagreement.empty()) {
      result.rules.push_back(rules[i].rule);
    } else {
      result.failures.push_back(fmt::format("{}: rule '{}' is {}", on_one_line(place_of(rules[i], given)),
                                            rules[i].rule.name, text_of(verdicts[i]->kind)));
    }
  }
  return result;
}

}  // namespace taso
