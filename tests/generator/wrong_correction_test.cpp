// Wrong regions and wrong corrections are refused: rules with corrected programs are changed in one place, and what
// differs at some sizes over the prime field must not be proved.
#include "tests/generator/wrong_correction.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "rules/instance/concrete.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/generator/partial_rules.h"
#include "tests/generator/proved_rules.h"
#include "verifier/agreement/field_agreement.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/proof/deadline.h"

namespace taso::test {

using namespace generator;

namespace {

enum class Difference { none, in_shape, in_value };

/// Whether the sides differ at some sizes, or the target does not fit the source there.
Difference difference_in(const rules::Instance& instance, std::size_t sizes, std::uint64_t seed) {
  if (!instance.target_fits) return Difference::in_shape;
  constexpr std::int64_t bounds[] = {4, 6, 9, 5, 7, 12};
  constexpr double most_work = 1e5;
  const rules::AssignmentSampler sampler(instance);
  const rules::Concretizer concretizer(instance);
  Random random(seed);
  for (std::size_t i = 0, done = 0; i < 4 * sizes && done < sizes; ++i) {
    const auto assignment = sampler.sample(random, bounds[i % std::size(bounds)]);
    if (!assignment) continue;
    const auto built = concretizer.at(*assignment);
    if (const auto* misfit = std::get_if<rules::Misfit>(&built)) {
      if (misfit->in_target) return Difference::in_shape;
      continue;
    }
    const auto& concrete = std::get<rules::ConcreteInstance>(built);
    if (concrete.work > most_work) continue;
    ++done;
    const std::vector<bool> equal = verifier::agreement_in_field(concrete, 1, random).equal;
    if (std::find(equal.begin(), equal.end(), false) != equal.end()) return Difference::in_value;
  }
  return Difference::none;
}

struct Judgement {
  Difference difference = Difference::none;
  verifier::RuleVerdict::Kind verdict = verifier::RuleVerdict::Kind::unknown;
  bool has_normal_form = false;  ///< the normal form alone proves it where it is wrong
  std::string disagreement;
};

bool is_proved_by_normal_form(const rules::Instance& instance, double seconds) {
  const verifier::Deadline deadline(seconds, {});
  verifier::NormalFormLimits limits;
  limits.stop = deadline.token();
  return verifier::prove_by_normal_form(instance, limits).kind == verifier::NormalFormResult::Kind::proved;
}

/// The normal form alone gets that many seconds. Unchanged rules take it about a hundredth of a second: a proof of
/// something false would need a fault, not a search.
Judgement judge(const rules::Rule& rule, double seconds) {
  constexpr std::size_t sizes = 24;
  Judgement judgement;
  std::vector<rules::Instance> wrong;
  try {
    for (rules::Instance& instance : rules::all_instances(rule).made) {
      const Difference difference = difference_in(instance, sizes, 7);
      if (difference == Difference::none) continue;
      judgement.difference = std::max(judgement.difference, difference);
      wrong.push_back(std::move(instance));
    }
  } catch (const InputError&) {
    return judgement;  // it has no meaning
  }
  if (wrong.empty()) return judgement;
  for (const rules::Instance& instance : wrong)
    if (instance.target_fits && is_proved_by_normal_form(instance, seconds)) judgement.has_normal_form = true;
  verifier::VerifyOptions options;
  options.time_limit = 10;
  options.abduce = options.thorough = options.second_opinion = false;
  const verifier::RuleVerdict verdict = verifier::verify(rule, shipped_properties(), options);
  judgement.verdict = verdict.kind;
  judgement.disagreement = verdict.disagreement;
  return judgement;
}

struct Tally {
  std::size_t wrong = 0, in_value = 0, refuted = 0, unknown = 0, proved = 0, still_true = 0;
};

/// Judges changed rules on several threads, and checks that nothing wrong is proved.
class Campaign {
 public:
  /// The normal form has `brief` seconds for most rules, and ten times as long for every tenth.
  Campaign(unsigned jobs, double brief) : jobs_(jobs), brief_(brief) {}

  void judge_all(const std::vector<ChangedCorrection>& changes) {
    std::vector<Judgement> judgements(changes.size());
    parallel_for(jobs_, static_cast<std::int64_t>(changes.size()), [&](std::int64_t i) {
      const double seconds = i % 10 == 0 ? 10 * brief_ : brief_;
      judgements[static_cast<std::size_t>(i)] = judge(changes[static_cast<std::size_t>(i)].rule, seconds);
    });
    for (std::size_t i = 0; i < changes.size(); ++i) {
      INFO(changes[i].change << "\n" << rules::print(changes[i].rule));
      for (Tally* tally : {&all_, &by_change_[changes[i].change]}) count(judgements[i], *tally);
      const bool is_proved =
          judgements[i].difference != Difference::none && judgements[i].verdict == verifier::RuleVerdict::Kind::proved;
      CHECK_FALSE(is_proved);
      CHECK_FALSE(judgements[i].has_normal_form);
      CHECK(judgements[i].disagreement == "");
    }
  }
  const Tally& all() const { return all_; }
  std::size_t changes() const { return by_change_.size(); }

  void print() const {
    const auto line = [](std::string_view name, const Tally& tally) {
      std::cout << name << ": " << tally.wrong << " wrong (" << tally.in_value << " by a value first), "
                << tally.refuted << " refuted, " << tally.unknown << " unknown, " << tally.proved << " proved; "
                << tally.still_true << " still true\n";
    };
    for (const auto& [change, tally] : by_change_) line(change, tally);
    line("all changes", all_);
  }

 private:
  static void count(const Judgement& judgement, Tally& tally) {
    if (judgement.difference == Difference::none) {
      ++tally.still_true;
      return;
    }
    ++tally.wrong;
    if (judgement.difference == Difference::in_value) ++tally.in_value;
    const bool is_proved = judgement.has_normal_form || judgement.verdict == verifier::RuleVerdict::Kind::proved;
    ++(is_proved                                                   ? tally.proved
       : judgement.verdict == verifier::RuleVerdict::Kind::refuted ? tally.refuted
                                                                   : tally.unknown);
  }

  const unsigned jobs_;
  const double brief_;
  Tally all_;
  std::map<std::string_view, Tally> by_change_;
};

unsigned processors() { return std::max(2U, std::thread::hardware_concurrency()); }

std::vector<rules::Rule> corrected_rules(const std::vector<std::string>& kinds) {
  std::vector<rules::Rule> rules;
  for (PartialRule& one : partial_report(kinds, 2).rules)
    if (one.is_corrected) rules.push_back(std::move(one.rule));
  for (const rules::Rule& rule : rules) {
    INFO(rules::print(rule));
    const std::vector<rules::Instance> instances = rules::instances(rule);
    REQUIRE(instances.size() == 1);
    const bool is_right = difference_in(instances[0], 8, 3) == Difference::none;
    CHECK(is_right);
  }
  return rules;
}

}  // namespace

TEST_CASE("wrong corrections are refused") {
  constexpr std::size_t step = 31;  // of the changes of one kind, the first and every so many
  std::map<std::string_view, std::size_t> seen;
  Campaign campaign(2, 0.1);
  for (const rules::Rule& rule : corrected_rules({"conv-of-3-space-to-batch", "max-pool-batch-to-space",
                                                  "transposed-conv-space-to-batch", "conv-relu-conv-space-to-batch"})) {
    std::vector<ChangedCorrection> some;
    for (const rules::Rule& one : {rule, at_large_sizes(rule)})
      for (ChangedCorrection& change : changed_corrections(one))
        if (seen[change.change]++ % step == 0) some.push_back(std::move(change));
    campaign.judge_all(some);
  }
  campaign.print();
  CHECK(campaign.all().wrong >= 300);
  CHECK(campaign.all().in_value >= 100);
  CHECK(campaign.changes() >= 24);
}

TEST_CASE("ten thousand wrong corrections are refused", "[.][full]") {
  const std::vector<rules::Rule> rules = corrected_rules({"conv-space-to-batch",
                                                          "conv-batch-to-space",
                                                          "conv-of-3-space-to-batch",
                                                          "conv-of-3-batch-to-space",
                                                          "dilated-conv-space-to-batch",
                                                          "grouped-conv-space-to-batch",
                                                          "grouped-conv-batch-to-space",
                                                          "max-pool-space-to-batch",
                                                          "max-pool-batch-to-space",
                                                          "max-pool-space-to-channels",
                                                          "max-pool-channels-to-space",
                                                          "average-pool-with-pads-space-to-batch",
                                                          "average-pool-with-pads-batch-to-space",
                                                          "average-pool-with-pads-space-to-channels",
                                                          "average-pool-with-pads-channels-to-space",
                                                          "transposed-conv-space-to-batch",
                                                          "transposed-conv-batch-to-space",
                                                          "grouped-transposed-conv-space-to-batch",
                                                          "grouped-transposed-conv-batch-to-space",
                                                          "conv-conv-space-to-batch",
                                                          "conv-relu-conv-space-to-batch"});
  Campaign campaign(processors(), 0.2);
  for (const rules::Rule& rule : rules) campaign.judge_all(changed_corrections(rule));
  campaign.print();
  CHECK(campaign.all().wrong >= 10'000);
}

TEST_CASE("wrong corrections of transposed convolutions and of chains are refused", "[.][full]") {
  const std::vector<rules::Rule> rules = corrected_rules(
      {"transposed-conv-space-to-batch", "transposed-conv-batch-to-space", "grouped-transposed-conv-space-to-batch",
       "grouped-transposed-conv-batch-to-space", "conv-conv-space-to-batch", "conv-relu-conv-space-to-batch"});
  Campaign campaign(processors(), 0.1);
  for (const rules::Rule& rule : rules) campaign.judge_all(changed_corrections(rule));
  campaign.print();
  CHECK(campaign.all().wrong >= 5'000);
}

TEST_CASE("wrong corrections at large sizes are refused", "[.][full]") {
  Campaign campaign(processors(), 0.1);
  for (const rules::Rule& rule : corrected_rules({"conv-of-3-batch-to-space", "max-pool-space-to-channels"}))
    campaign.judge_all(changed_corrections(at_large_sizes(rule)));
  campaign.print();
  CHECK(campaign.all().in_value >= 500);
}

}  // namespace taso::test
