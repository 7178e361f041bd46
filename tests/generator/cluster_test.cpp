// Any number of ranks find the same, also from what an earlier run kept.
#include <atomic>
#include <map>
#include <mutex>
#include <stop_token>

#include "generator/enumeration/enumerate.h"
#include "generator/generate.h"
#include "ops/core/random.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/ops/thread_ranks.h"

namespace taso::test {

using namespace generator;

namespace {

using Stages = std::map<std::string, std::string>;

/// The states of the store after each change.
struct History {
  std::mutex mutex;
  Stages now;
  std::vector<Stages> states{Stages{}};
  std::size_t loaded = 0;
};

GenerateOptions options_for(Communicator& ranks) {
  GenerateOptions options;
  options.schemas = {"matmul", "add", "relu", "transpose"};
  options.max_operators = 3;
  options.ranks = &ranks;
  options.jobs = 1 + static_cast<unsigned>(ranks.rank()) % 2;
  options.prove = [](const rules::Rule& rule) {
    // Some of each kind, arbitrarily, but the same for all generalisations of a rule.
    const bool is_small = rule.inputs().size() < 3;
    return is_small ? ProofOutcome{ProofOutcome::Kind::proved, {"assumed"}, {}, {}}
                    : ProofOutcome{ProofOutcome::Kind::refuted, {}, {}, "on principle"};
  };
  return options;
}

void keep(GenerateOptions& options, History& history) {
  options.stages.least_work = 0;
  options.stages.load = [&](const std::string& stage) -> std::optional<std::string> {
    const auto found = history.now.find(stage);
    if (found == history.now.end()) return std::nullopt;
    ++history.loaded;
    return found->second;
  };
  options.stages.save = [&](const std::string& stage, const std::string& state) {
    history.now[stage] = state;
    history.states.push_back(history.now);
  };
  options.stages.forget = [&](const std::string& stage) {
    if (history.now.erase(stage) > 0) history.states.push_back(history.now);
  };
}

std::string text_of(const GenerateReport& report) {
  std::string text;
  for (const rules::Rule& rule : report.rules) text += rules::print(rule);
  for (const Rejected& rejected : report.refuted) text += rules::text_of(rejected.rule.source) + rejected.reason + "\n";
  for (const FamilyReport& family : report.families)
    text += family.name + " " + std::to_string(family.evaluations) + " " + std::to_string(family.values) + " " +
            std::to_string(family.equalities) + " " + std::to_string(family.graphs) + "\n";
  for (const std::size_t count : {report.equalities, report.renamed, report.confirmed, report.not_following,
                                  report.distinct, report.not_derived, report.proved, report.special})
    text += std::to_string(count) + "\n";
  return text;
}

/// The first rank's report.
GenerateReport find(std::size_t size, History* history = nullptr) {
  GenerateReport first;
  std::atomic<std::size_t> found_elsewhere = 0;  // Catch2's macros are for one thread
  ThreadRanks(size).run([&](Communicator& ranks) {
    GenerateOptions options = options_for(ranks);
    if (history && ranks.is_first()) keep(options, *history);
    GenerateReport report = generate(options);
    if (ranks.is_first())
      first = std::move(report);
    else
      found_elsewhere += report.rules.size();
  });
  CHECK(found_elsewhere == 0);
  return first;
}

}  // namespace

TEST_CASE("an enumeration finds the same with any number of ranks, on each of them", "[threads]") {
  for (const char* name : {"matrices", "images"}) {
    for (const Family& family : families(taso_schemas())) {
      if (family.name != name) continue;
      EnumerateOptions alone;
      const Enumeration expected = enumerate(family, alone);
      for (const std::size_t size : {2, 3, 4})
        ThreadRanks(size).run([&](Communicator& ranks) {
          EnumerateOptions options;
          options.ranks = &ranks;
          options.jobs = 2;
          const Enumeration found = enumerate(family, options);
          static std::mutex mutex;  // Catch's checks are not thread-safe
          const std::lock_guard lock(mutex);
          CHECK(found.complete);
          CHECK(found.found == expected.found);
          CHECK(found.graphs == expected.graphs);
          CHECK(found.values == expected.values);
          CHECK(found.evaluations == expected.evaluations);
          CHECK(found.table.size() == expected.table.size());
          CHECK(found.table.contents == expected.table.contents);
        });
    }
  }
}

TEST_CASE("any number of ranks find the same rules", "[threads]") {
  const std::string expected = text_of(find(1));
  CHECK(expected.size() > 1000);
  for (const std::size_t size : {2, 3, 4}) CHECK(text_of(find(size)) == expected);
}

TEST_CASE("a run goes on from every moment at which something was kept, with other ranks", "[threads]") {
  History whole;
  const std::string expected = text_of(find(1, &whole));
  CHECK(expected == text_of(find(1)));
  REQUIRE(whole.states.size() > 10);
  Random random(5);
  for (const Stages& state : whole.states) {
    History history;
    history.now = state;
    const std::size_t size = 1 + random.below(3);
    CHECK(text_of(find(size, &history)) == expected);
    CHECK((history.loaded > 0) == !state.empty());
    CHECK(history.now == whole.now);
  }
  History by_three;
  find(3, &by_three);
  CHECK(by_three.states == whole.states);
}

TEST_CASE("one rank that is asked to stop stops all, and the run can go on", "[threads]") {
  const std::string expected = text_of(find(1));
  for (const std::size_t at : {1, 2, 3, 4, 5, 6}) {
    History history;
    bool complete = true;
    ThreadRanks(3).run([&](Communicator& ranks) {
      std::stop_source stop;
      GenerateOptions options = options_for(ranks);
      options.stop = stop.get_token();
      if (ranks.is_first()) keep(options, history);
      // The second rank stops in the middle of a proof, the first while it watches.
      std::size_t seen = 0;
      options.watch = [&](const GenerateProgress&) {
        if (ranks.is_first() && at < 4 && ++seen == at) stop.request_stop();
      };
      const auto prove = options.prove;
      options.prove = [&, prove](const rules::Rule& rule) {
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        if (ranks.rank() == 1 && at >= 4 && ++seen == at - 3) stop.request_stop();
        return prove(rule);
      };
      const GenerateReport report = generate(options);
      if (ranks.is_first()) complete = report.complete;
    });
    CHECK_FALSE(complete);
    CHECK(text_of(find(2, &history)) == expected);
  }
}

}  // namespace taso::test
