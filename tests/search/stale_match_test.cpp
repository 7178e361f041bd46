// A match of an earlier graph is applied only if the matcher would find it again.
#include <algorithm>

#include "ops/text/graph_text.h"
#include "search/rewriting/rewrite.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

using Rules = std::vector<std::unique_ptr<RewriteRule>>;

std::vector<Match> matches_in(Program& program, const Rules& rules) {
  std::vector<Match> matches;
  for (const ComputationId id : program.computations())
    for (const auto& rule : rules)
      find_matches(program, *rule, id, [&](Match match) { matches.push_back(std::move(match)); });
  return matches;
}

/// Rules about operators with several results, which lose results one by one.
std::vector<rules::Rule> rules_of_parts() {
  std::vector<rules::Rule> rules = shipped_rules();
  std::erase_if(rules, [](const rules::Rule& rule) { return rules::print(rule).find("split") == std::string::npos; });
  return rules;
}

/// Whether the matcher finds this match in the current program.
bool is_found(Program& program, const Match& match) {
  bool found = false;
  for (const ComputationId id : program.computations())
    find_matches(program, *match.rule, id, [&](const Match& one) {
      found = found || (one.roots == match.roots && one.inputs == match.inputs && one.source == match.source);
    });
  return found;
}

}  // namespace

TEST_CASE("a match of another graph is applied only if it would be found") {
  const auto of_parts = GENERATE(false, true);
  const std::vector<rules::Rule> given = of_parts ? rules_of_parts() : sound_rules();
  const auto rules = compile(given);
  RuleGraphs graphs(given);
  std::size_t applied = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Graph graph = graphs.make(seed, 4);
    Store store;
    Program program(store, graph);
    Random random(seed);
    std::vector<Match> known;
    for (std::size_t step = 0; step < 6; ++step) {
      for (Match& match : matches_in(program, rules)) known.push_back(std::move(match));
      random.shuffle(known);
      if (known.size() > 300) known.resize(300);
      bool moved = false;
      for (const Match& match : known) {
        INFO("seed " << seed << ", step " << step << ", rule " << match.rule->name() << "\n" << ops::text_of(graph));
        const ProgramHash before = program.hash();
        Program::Log log;
        if (!rewrite(program, match, log)) {
          ++refused;
          REQUIRE(program.hash() == before);
          continue;
        }
        ++applied;
        program.undo(log);
        REQUIRE(is_found(program, match));
        if (moved || random.below(4) != 0) continue;
        program.redo(log);
        moved = true;
      }
      if (!moved) break;
    }
  }
  CHECK(applied > 1000);
  CHECK(refused > 1000);
}

}  // namespace taso::test
