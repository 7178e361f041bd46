#include "cli/verify/proved_rules.h"

#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "cli/verify/proof_cache.h"
#include "ops/support/threads.h"
#include "rules/language/canonical.h"
#include "verifier/verify.h"

namespace taso::cli {

namespace {

class ProofProgress {
 public:
  ProofProgress(Console& console, std::size_t rules) : shown_(console), rules_(rules) {}
  void count() { ++done_; }
  void show() {
    shown_.show(
        [&] { return fmt::format("proving: {} of {} rules; {:.0f} s", done_.load(), rules_, shown_.seconds()); });
  }

 private:
  ProgressLine shown_;
  const std::size_t rules_;
  std::atomic<std::size_t> done_{0};
};

/// What keeps a rule from being used, after "is".
std::string obstacle_of(const verifier::RuleVerdict& verdict) {
  if (!verdict.disagreement.empty()) return "disputed: " + on_one_line(verdict.disagreement);
  if (verdict.kind != verifier::RuleVerdict::Kind::unknown) return std::string(verifier::text_of(verdict.kind));
  return "neither proved nor refuted: " + verdict.reason;
}

}  // namespace

Proofs prove_rules(const std::vector<GivenRule>& rules, const std::vector<GivenFile>& files, unsigned jobs,
                   Console& console, bool anew) {
  const std::vector<rules::Rule> axioms = read_properties(properties_path({})).rules.rules();
  const rules::Properties properties(axioms);
  const verifier::VerifyOptions options;
  std::optional<ProofCache> cache;
  if (const auto folder = default_cache_folder(); folder && !anew)
    cache.emplace(*folder, hash_of_properties(axioms), options);

  ProofProgress progress(console, rules.size());
  std::vector<std::optional<verifier::RuleVerdict>> verdicts(rules.size());
  std::stop_source end;
  const std::stop_token stop = end.get_token();
  const auto prove = [&](std::size_t index) {
    const rules::Rule& rule = rules[index].rule;
    const std::string hash = rules::content_hash(rule);
    std::optional<verifier::RuleVerdict> verdict = cache ? cache->find(rule, hash) : std::nullopt;
    if (!verdict) {
      verdict = verifier::verify(rule, properties, options, stop);
      if (stop.stop_requested()) return;  // an interrupted proof is not a verdict
      if (cache) cache->add(rule, hash, *verdict);
    }
    verdicts[index] = std::move(verdict);
    progress.count();
  };
  run_watched(
      end, [&] { parallel_for(thread_count(jobs), rules.size(), stop, prove); },
      [&] {
        progress.show();
        if (interrupted()) end.request_stop();
      });
  console.draw({});
  try {
    if (cache) cache->save();
  } catch (const std::exception& error) {
    console.say(Console::Level::detail, fmt::format("cannot keep the proofs: {}", error.what()));
  }

  Proofs result;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!verdicts[i])
      result.interrupted = true;
    else if (verdicts[i]->kind != verifier::RuleVerdict::Kind::proved || !verdicts[i]->disagreement.empty())
      result.failures.push_back(fmt::format("{}: rule '{}' is {}", on_one_line(place_of(rules[i], files)),
                                            rules[i].rule.name, obstacle_of(*verdicts[i])));
  }
  return result;
}

}  // namespace taso::cli
