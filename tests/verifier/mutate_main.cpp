// A campaign of mutants: verifier_mutate [--count N] [--seed S] [--jobs J] [--time-limit T] [--list FILE]
//                                        --properties FILE RULES…
// Changes sound rules at random and runs each mutant through the whole verifier. No mutant whose sides differ on
// concrete tensors may be called proved: proved mutants are tried again on many tensors, also as they are written,
// without any instances; and mutants with a counterexample are still given to the provers. Prints how many were caught
// by which means. Exits with 1 if the verifier was deceived.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/verifier/by_the_letter.h"
#include "tests/verifier/mutate_rule.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/proof/definedness.h"
#include "verifier/proof/proof.h"
#include "verifier/refutation/refute.h"
#include "verifier/verify.h"

namespace {

using namespace taso;
using namespace taso::verifier;
using test::RuleMutation;

struct Settings {
  std::size_t count = 1000;
  std::uint64_t seed = 1;
  unsigned jobs = thread_count(0);
  double time_limit = 5;
  std::string list, properties;
  std::vector<std::string> files;
};

Settings parse_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw InputError(word + " needs a value");
      return argv[++i];
    };
    if (word == "--count")
      settings.count = std::stoul(value());
    else if (word == "--seed")
      settings.seed = std::stoull(value());
    else if (word == "--jobs")
      settings.jobs = thread_count(static_cast<unsigned>(std::stoul(value())));
    else if (word == "--time-limit")
      settings.time_limit = std::stod(value());
    else if (word == "--list")
      settings.list = value();
    else if (word == "--properties")
      settings.properties = value();
    else
      settings.files.push_back(word);
  }
  if (settings.files.empty() || settings.properties.empty())
    throw InputError("give --properties FILE and files of sound rules");
  return settings;
}

struct Mutant {
  std::string kind;  ///< of its first change
  std::string text;  ///< a rule to parse
};

/// Different from one another and from all of the rules, up to renaming.
std::vector<Mutant> make_mutants(const std::vector<rules::Rule>& rules, const Settings& settings) {
  std::set<std::string> seen;
  for (const rules::Rule& rule : rules) seen.insert(rules::content_hash(rule));
  Random random(settings.seed);
  std::vector<Mutant> mutants;
  for (std::size_t attempt = 0; mutants.size() < settings.count && attempt < 100 * settings.count; ++attempt) {
    const rules::Rule& rule = random.pick(rules);
    const std::size_t kind = random.below(RuleMutation::kinds.size());
    auto mutant = RuleMutation(random).apply(rule, kind);
    if (mutant && random.chance(0.2))
      if (auto again = RuleMutation(random).apply(*mutant, random.below(RuleMutation::kinds.size()))) mutant = again;
    if (!mutant || !seen.insert(rules::content_hash(*mutant)).second) continue;
    mutant->name = fmt::format("mutant-{}-of-{}", mutants.size(), rule.name);
    mutants.push_back({std::string(RuleMutation::kinds[kind]), rules::print(*mutant)});
  }
  return mutants;
}

struct Outcome {
  std::string word;     ///< a column of the report
  std::string failure;  ///< how the verifier was deceived
  std::string remark;
};

/// A counterexample to a proved rule, searched with other numbers than the verifier's.
std::string try_again(const rules::Rule& rule, const std::vector<rules::Condition>& condition, std::uint64_t seed) {
  rules::InstanceOptions options;
  options.extra = condition;
  const auto all = rules::instances(rule, options);
  RefuteOptions thorough;
  thorough.seed = seed;
  thorough.tries = 4000;
  thorough.tries_each = 400;
  const Refutation refutation = refute(all, thorough);
  rules::Rule narrowed = rule;
  narrowed.conditions.insert(narrowed.conditions.end(), condition.begin(), condition.end());
  if (!refutation.counterexample) return test::ByTheLetter(narrowed, seed).counterexample(6, 60);
  return verifier::text_of(*refutation.counterexample, all[refutation.counterexample->instance]);
}

/// A proof of a rule that has a counterexample, without shortcuts.
std::string proof_all_the_same(const rules::Rule& rule, const rules::Properties& properties) {
  const auto all = rules::instances(rule);
  RefuteOptions options;
  options.shrink = false;
  const Refutation refutation = refute(all, options);
  if (!refutation.counterexample) return {};
  const rules::Instance& instance = all[refutation.counterexample->instance];
  if (!instance.target_fits) return {};
  const std::string counterexample = verifier::text_of(*refutation.counterexample, instance);
  if (refutation.counterexample->is_undefined)
    return prove_definedness(instance).kind == NormalFormResult::proved ? "proved to be defined:\n" + counterexample
                                                                        : "";
  if (prove(instance, properties).kind == ProofResult::Kind::proved)
    return "proved from properties:\n" + counterexample;
  if (prove_by_normal_form(instance).kind == NormalFormResult::proved)
    return "proved by the normal form:\n" + counterexample;
  return {};
}

Outcome judge(const Mutant& mutant, std::size_t number, const rules::Properties& properties, const Settings& settings) {
  rules::Rule rule;
  try {
    rule = rules::parse_rule(mutant.text);
  } catch (const InputError& error) {
    return {"refused when read", {}, error.what()};
  }
  VerifyOptions options;
  options.time_limit = settings.time_limit;
  // Finding conditions takes long, so only some mutants do it.
  options.abduce = number % 10 == 0;
  RuleVerdict verdict;
  try {
    verdict = verify(rule, properties, options);
  } catch (const InputError& error) {
    return {"refused when read", {}, error.what()};
  }
  if (!verdict.disagreement.empty()) return {"disagreement", verdict.disagreement, {}};
  switch (verdict.kind) {
    case RuleVerdict::Kind::proved:
    case RuleVerdict::Kind::conditional: {
      const bool as_it_stands = verdict.kind == RuleVerdict::Kind::proved;
      std::string counterexample = try_again(rule, verdict.condition, settings.seed + 1000 + number);
      std::string remark;
      for (const rules::Condition& condition : verdict.condition) remark += "where " + rules::text_of(condition) + "\n";
      return {as_it_stands ? "true" : "true under a condition", std::move(counterexample), remark};
    }
    case RuleVerdict::Kind::refuted: {
      const auto says = [&](std::string_view words) { return verdict.counterexample.find(words) != std::string::npos; };
      const bool has_numbers = says("\n  ");
      const bool differ = says("they differ"), is_undefined = says("is undefined");
      const bool fits_nowhere = says("target is never well-formed");
      return {differ                        ? "values differ"
              : is_undefined                ? "target undefined"
              : has_numbers || fits_nowhere ? "target ill-formed"
                                            : "says nothing",
              has_numbers ? proof_all_the_same(rule, properties) : "", verdict.counterexample};
    }
    case RuleVerdict::Kind::unknown: return {"unknown", {}, verdict.reason};
  }
  return {};
}

int run(const Settings& settings) {
  std::vector<rules::Rule> rules;
  for (const std::string& file : settings.files)
    for (rules::Rule& rule : rules::parse_rules(Source::read(file)).rules()) rules.push_back(std::move(rule));
  const rules::Properties properties(rules::parse_rules(Source::read(settings.properties)).rules());
  const std::vector<Mutant> mutants = make_mutants(rules, settings);

  std::vector<Outcome> outcomes(mutants.size());
  std::mutex output;
  parallel_for(settings.jobs, mutants.size(), [&](std::size_t i) {
    try {
      outcomes[i] = judge(mutants[i], i, properties, settings);
    } catch (const std::exception& error) {
      outcomes[i] = {"failure", error.what(), {}};
    }
    if ((i + 1) % 1000 == 0) {
      const std::lock_guard lock(output);
      std::cerr << fmt::format("{} of {} mutants\n", i + 1, mutants.size());
    }
  });

  const std::vector<std::string> words{"values differ", "target ill-formed",      "says nothing", "refused when read",
                                       "true",          "true under a condition", "unknown",      "target undefined"};
  std::map<std::string, std::map<std::string, std::size_t>> table;
  std::size_t failures = 0;
  std::ofstream list;
  if (!settings.list.empty()) list.open(settings.list);
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    ++table[mutants[i].kind][outcome.word];
    ++table["all"][outcome.word];
    if (list) list << fmt::format("== {}\n{}{}\n\n", outcome.word, mutants[i].text, outcome.remark);
    if (outcome.failure.empty()) continue;
    ++failures;
    std::cout << fmt::format("TAKEN IN ({}):\n{}{}\n\n", outcome.word, mutants[i].text, outcome.failure);
  }
  std::cout << fmt::format("{} mutants of {} sound rules, seed {}\n\n{:20}", mutants.size(), rules.size(),
                           settings.seed, "");
  for (const std::string& word : words) std::cout << fmt::format("{:>24}", word);
  std::cout << "\n";
  const auto row = [&](const std::string& kind) {
    std::cout << fmt::format("{:20}", kind);
    for (const std::string& word : words) std::cout << fmt::format("{:24}", table[kind][word]);
    std::cout << "\n";
  };
  for (const std::string_view kind : RuleMutation::kinds) row(std::string(kind));
  row("all");
  std::cout << fmt::format("\ntaken in: {}\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try { return run(parse_settings(argc, argv)); } catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
