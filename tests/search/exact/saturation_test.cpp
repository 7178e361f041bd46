// Equality saturation as a search: its results are right, never worse, and the same for any number of threads.
#include "search/exact/saturation.h"

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "search/exact/integer_program.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/agreement.h"
#include "tests/search/rule_graph.h"

namespace taso::test {
namespace {

using search::Saturation;
using search::SearchOptions;
using search::SearchResult;

SearchOptions with(const search::RegionSolver& solver, bool explores) {
  SearchOptions options;
  options.solver = &solver;
  options.explores = explores;
  options.budget = 30;
  options.solver_piece = 3;
  options.layout = cost::Layout::channels_first;
  return options;
}

cost::Cost cost_of(const Graph& graph) { return cost::plan(graph, cost::Roofline()).cost; }

}  // namespace

TEST_CASE("saturation finds merged products, step by step") {
  if (!search::has_cbc()) return;
  const Graph graph = parse_graph(
      "graph\n  input x: float32[64, 32]\n  constant a: float32[32, 16]\n  constant b: float32[32, 16]\n"
      "  p = matmul(x, a)\n  q = matmul(x, b)\n  output p, q\n");
  const auto rules = rules::parse_rules(Source("test", R"(taso rules 1
rule shared-left-factor
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2
)"))
                         .rules();
  const Saturation solver;
  const SearchResult found = search::search(graph, rules, cost::Roofline(), with(solver, false));
  REQUIRE(found.steps.size() == 1);
  CHECK(found.steps[0].rule == "shared-left-factor");
  CHECK(found.cost_after < found.cost_before);
  CHECK(cost_of(found.graph) == found.cost_after);
  REQUIRE(found.gaps.size() == 1);
  CHECK(found.gaps[0].is_saturated);
  CHECK(found.gaps[0].least <= found.cost_after);
  CHECK(found.counts.improved == 1);
}

TEST_CASE("results of saturation agree with the input and are not worse") {
  if (!search::has_cbc()) return;
  const std::vector<rules::Rule> rules = shipped_rules();
  const RuleGraphs graphs(rules);
  const Saturation solver;
  std::size_t improved = 0, saturated = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Graph graph = graphs.make(seed, 1 + seed % 4);
    for (const bool explores : {false, true}) {
      const SearchResult found = search::search(graph, rules, cost::Roofline(), with(solver, explores));
      const Agreement agreement = compare(graph, found.graph, seed);
      INFO(agreement.difference);
      CHECK_FALSE(agreement.wrong());
      CHECK(found.cost_after <= found.cost_before);
      improved += found.cost_after < found.cost_before ? 1 : 0;
      for (const search::RegionGap& gap : found.gaps) {
        CHECK(gap.least <= gap.cost);
        CHECK(gap.places > 0);
        saturated += gap.is_saturated ? 1 : 0;
      }
    }
  }
  CHECK(improved > 10);
  CHECK(saturated > 10);
}

TEST_CASE("after backtracking, saturation makes nothing worse") {
  if (!search::has_cbc()) return;
  const std::vector<rules::Rule> rules = shipped_rules();
  const RuleGraphs graphs(rules);
  const Saturation solver;
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    CAPTURE(seed);
    const Graph graph = graphs.make(seed, 3);
    SearchOptions options = with(solver, true);
    const SearchResult both = search::search(graph, rules, cost::Roofline(), options);
    options.solver = nullptr;
    const SearchResult alone = search::search(graph, rules, cost::Roofline(), options);
    CHECK(both.cost_after <= alone.cost_after);
    CHECK(alone.gaps.empty());
  }
}

TEST_CASE("the number of threads does not change what saturation finds", "[threads]") {
  if (!search::has_cbc()) return;
  const std::vector<rules::Rule> rules = shipped_rules();
  const RuleGraphs graphs(rules);
  const Saturation solver;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    const Graph graph = graphs.make(seed, 12);
    std::vector<std::string> texts;
    for (const unsigned jobs : {1u, 3u}) {
      SearchOptions options = with(solver, false);
      options.jobs = jobs;
      const SearchResult found = search::search(graph, rules, cost::Roofline(), options);
      texts.push_back(ops::text_of(found.graph));
      for (const search::RegionGap& gap : found.gaps) texts.back() += std::to_string(gap.least) + "\n";
    }
    CHECK(texts[0] == texts[1]);
  }
}

}  // namespace taso::test
