#include "tests/verifier/adversarial/partial_functions.h"

#include <iostream>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "ops/support/threads.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"
#include "verifier/verify.h"

namespace taso::test {

using namespace verifier;

namespace {

/// Counts verdicts by family, and fails for every rule that is proved, with or without a condition.
void tempt(std::size_t count, std::uint64_t seed) {
  const rules::Properties properties(
      rules::parse_rules(Source::read((source_folder() / "rules/properties.rules").string())).rules());
  const auto rules = test::partial_function_rules(count, seed);
  REQUIRE(rules.size() == count);
  std::mutex mutex;
  std::map<std::string, std::map<std::string, std::size_t>> table;
  std::vector<std::string> complaints;
  parallel_for(thread_count(0), rules.size(), [&](std::size_t i) {
    const rules::Rule rule = rules::parse_rule(rules[i].text);
    VerifyOptions options;
    options.time_limit = 60;
    options.conditions = 3;
    const RuleVerdict verdict = verify(rule, properties, options);
    const bool is_taken_in = verdict.kind == RuleVerdict::Kind::proved ||
                             verdict.kind == RuleVerdict::Kind::conditional || !verdict.disagreement.empty();
    const std::lock_guard lock(mutex);
    ++table[rules[i].family]
           [verdict.kind == RuleVerdict::Kind::refuted ? verdict.reason : std::string(verifier::text_of(verdict.kind))];
    if (is_taken_in) complaints.push_back(rules[i].text + verdict.disagreement);
  });
  std::size_t undefined = 0;
  for (const auto& [family, verdicts] : table)
    for (const auto& [verdict, times] : verdicts) {
      std::cout << fmt::format("{:20} {:60} {:6}\n", family, verdict, times);
      if (verdict.find("undefined") != std::string::npos) undefined += times;
    }
  for (const std::string& complaint : complaints) FAIL_CHECK(complaint);
  // Most are refuted as undefined, so the test is real.
  CHECK(undefined > count / 2);
}

}  // namespace

TEST_CASE("no rule is proved whose target is undefined where its source is not", "[threads]") {
  tempt(120, 1);
}

TEST_CASE("of a thousand rules, none is proved whose target is undefined where its source is not", "[.][full]") {
  tempt(1000, 2);
}

}  // namespace taso::test
