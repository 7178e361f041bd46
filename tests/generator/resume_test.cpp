// A resumed run gives the same as an uninterrupted one.
#include <map>
#include <mutex>
#include <stop_token>

#include "generator/generate.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

/// Decisions by candidate, and how often the prover was asked.
struct Memory {
  std::mutex mutex;
  std::string candidates;
  std::map<std::string, Decision> decisions;
  std::size_t asked = 0;
};

GenerateReport find(Memory& memory, std::size_t most_questions, unsigned jobs) {
  std::stop_source stop;
  GenerateOptions options;
  options.schemas = {"matmul", "add", "relu", "transpose"};
  options.max_operators = 2;
  options.jobs = jobs;
  options.stop = stop.get_token();
  options.prove = [&](const rules::Rule& rule) {
    const std::lock_guard lock(memory.mutex);
    if (++memory.asked >= most_questions) stop.request_stop();
    // Some of each kind, arbitrarily, but the same for all generalisations of a rule.
    const bool is_small = rule.inputs().size() < 3;
    return is_small ? ProofOutcome{ProofOutcome::Kind::proved, {"assumed"}, {}, {}}
                    : ProofOutcome{ProofOutcome::Kind::refuted, {}, {}, "on principle"};
  };
  options.begin = [&](const std::string& candidates) { memory.candidates = candidates; };
  options.recall = [&](const std::string& candidate) -> std::optional<Decision> {
    const std::lock_guard lock(memory.mutex);
    const auto found = memory.decisions.find(candidate);
    return found == memory.decisions.end() ? std::nullopt : std::optional(found->second);
  };
  options.remember = [&](const std::string& candidate, const Decision& decision) {
    const std::lock_guard lock(memory.mutex);
    memory.decisions.emplace(candidate, decision);
  };
  return generate(options);
}

std::string text_of(const GenerateReport& report) {
  std::string text;
  for (const rules::Rule& rule : report.rules) text += rules::print(rule);
  for (const Rejected& rejected : report.refuted) text += rules::text_of(rejected.rule.source) + rejected.reason + "\n";
  return text;
}

}  // namespace

TEST_CASE("decisions of an earlier run are not made again") {
  Memory whole;
  const GenerateReport expected = find(whole, ~std::size_t{0}, 1);
  REQUIRE(expected.complete);
  REQUIRE(expected.rules.size() > 5);
  REQUIRE_FALSE(expected.refuted.empty());
  REQUIRE(whole.decisions.size() == expected.distinct);
  REQUIRE(whole.candidates.size() == 32);

  const std::size_t questions = whole.asked;
  CHECK(text_of(find(whole, ~std::size_t{0}, 1)) == text_of(expected));
  CHECK(whole.asked == questions);

  for (const std::size_t stop_at : {std::size_t{1}, questions / 3, questions / 2, questions - 1}) {
    Memory memory;
    CHECK_FALSE(find(memory, stop_at, 2).complete);
    CHECK(memory.decisions.size() < expected.distinct);
    const GenerateReport resumed = find(memory, ~std::size_t{0}, 3);
    CHECK(resumed.complete);
    CHECK(text_of(resumed) == text_of(expected));
    CHECK(resumed.not_derived == expected.not_derived);
    CHECK(memory.candidates == whole.candidates);
  }
}

TEST_CASE("an exception of the prover ends the run", "[threads]") {
  for (const unsigned jobs : {1u, 3u}) {
    GenerateOptions options;
    options.schemas = {"add", "mul"};
    options.max_operators = 2;
    options.jobs = jobs;
    options.prove = [](const rules::Rule&) -> ProofOutcome { throw EnvironmentError("no more memory"); };
    CHECK_THROWS_AS(generate(options), EnvironmentError);
  }
}

}  // namespace taso::test
