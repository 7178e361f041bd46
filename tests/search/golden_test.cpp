// Graphs and the results of the search. tests/search/golden/*.graph hold a graph, followed by the result with both
// costs; tests/search/unchanged/*.graph hold graphs that must stay unchanged. Lines with '#!' set the options of the
// search:
//
//   #! shipped             with the shipped rules instead of those of golden.rules
//   #! rules a, b          with only these of them
//   #! alpha 1.1           and #! budget 100
//   #! not with alpha 1    with this alpha, it must find less
//   #! only golden         in unchanged/: the shipped rules change this graph, those of golden.rules do not
//
// TASO_BLESS=1 writes the results again.
#include "tests/search/golden_case.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

std::string describe(const SearchResult& result) {
  std::string text = fmt::format("#! result {} {} ns\n", result.cost_before / 1000, result.cost_after / 1000);
  for (const rules::RewriteStep& step : result.steps) {
    text += fmt::format("# {} ns by {}", (step.cost_after - step.cost_before) / 1000, step.rule);
    for (const auto& [variable, value] : step.variables) text += fmt::format(", {} = {}", variable, value);
    text += "\n";
  }
  return text + ops::text_of(result.graph);
}

}  // namespace

TEST_CASE("graphs get the expected results") {
  const bool bless = std::getenv("TASO_BLESS") != nullptr;
  const auto files = golden_files("golden");
  CHECK(files.size() >= 12);
  for (const auto& file : files) {
    const GoldenCase golden = read_golden(file);
    const SearchResult result = search::search(golden.graph, golden.rules, cost::Roofline(), golden.options);
    INFO(file.filename().string());
    CHECK(!result.steps.empty());
    CHECK(result.cost_after <= result.cost_before);
    const std::string given = describe(result);
    if (bless)
      std::ofstream(file, std::ios::binary) << golden.head << (golden.expected.empty() ? "\n" : "") << given;
    else
      CHECK(given == golden.expected);
    if (!golden.too_low_alpha) continue;
    SearchOptions options = golden.options;
    options.alpha = *golden.too_low_alpha;
    CHECK(search::search(golden.graph, golden.rules, cost::Roofline(), options).cost_after > result.cost_after);
  }
}

TEST_CASE("graphs that must not change stay unchanged") {
  const auto files = golden_files("unchanged");
  CHECK(files.size() >= 20);
  const auto shipped = shipped_rules();
  std::size_t by_shipped = 0;
  for (const auto& file : files) {
    const GoldenCase golden = read_golden(file);
    by_shipped += golden.only_golden ? 0 : 1;
    for (const bool with_shipped : {false, true}) {
      if (with_shipped && golden.only_golden) continue;
      SearchOptions options = golden.options;
      if (with_shipped) options.budget = 20;
      const SearchResult result =
          search::search(golden.graph, with_shipped ? shipped : golden.rules, cost::Roofline(), options);
      INFO(file.filename().string() << "\n" << describe(result));
      CHECK(result.steps.empty());
      CHECK(result.cost_after == result.cost_before);
      CHECK(equal(result.graph, golden.graph));
      CHECK(result.graph.outputs == golden.graph.outputs);
    }
  }
  CHECK(by_shipped >= 20);
}

}  // namespace taso::test
