// Large graphs, searched by regions.
#include "search/region.h"

#include <set>
#include "cost/pricing/roofline.h"

#include "ops/text/graph_text.h"
#include "search/pieces.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

/// Blocks of a 1×1 and a 3×3 convolution, activated and joined, each after a convolution that narrows again.
Graph fire_modules(std::size_t count) {
  std::string text = "graph\n  input x0: float32[1, 16, 14, 14]\n";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    text += "  constant a" + n + ": float32[64, 16, 1, 1]\n  constant b" + n + ": float32[64, 16, 3, 3]\n";
    text += "  constant c" + n + ": float32[16, 128, 1, 1]\n";
    text += "  p" + n + " = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](x" + n + ", a" + n + ")\n  q" +
            n + " = relu(p" + n + ")\n";
    text += "  r" + n + " = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]](x" + n + ", b" + n + ")\n  s" +
            n + " = relu(r" + n + ")\n";
    text += "  t" + n + " = concat[axis=1](q" + n + ", s" + n + ")\n";
    text += "  x" + std::to_string(i + 1) + " = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](t" + n +
            ", c" + n + ")\n";
  }
  return parse_graph(text + "  output x" + std::to_string(count) + "\n");
}

}  // namespace

TEST_CASE("equal blocks are searched once, and all of them get the result") {
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  SearchOptions options;
  options.piece = 6;
  options.budget = 400;
  options.alpha = 1.3;
  const SearchResult found = search::search(fire_modules(24), rules, cost::Roofline(), options);
  std::size_t convolutions = 0;
  for (const ops::Node* node : found.graph.nodes())
    convolutions += node->as_operator() != nullptr && std::holds_alternative<op::Conv>(*node->as_operator());
  CHECK(convolutions == 48);
  CHECK(found.counts.regions < 12);
}

TEST_CASE("the number of threads changes nothing", "[threads]") {
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  RuleGraphs graphs(sound_rules());
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Graph graph = seed == 0 ? fire_modules(9) : graphs.make(seed, 30);
    const auto& used = seed == 0 ? rules : sound_rules();
    std::vector<std::string> texts;
    for (const unsigned jobs : {1u, 2u, 5u}) {
      SearchOptions options;
      options.piece = 4;
      options.budget = 120;
      options.alpha = 1.2;
      options.jobs = jobs;
      const SearchResult found = search::search(graph, used, cost::Roofline(), options);
      texts.push_back(ops::text_of(found.graph));
      for (const rules::RewriteStep& step : found.steps) texts.back() += step.rule + "\n";
    }
    CHECK(texts[0] == texts[1]);
    CHECK(texts[0] == texts[2]);
  }
}

TEST_CASE("results in parts are reported at once", "[threads]") {
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  for (const std::size_t modules : {1, 24})
    for (const unsigned jobs : {1u, 3u}) {
      SearchOptions options;
      options.piece = 6;
      options.budget = 400;
      options.alpha = 1.3;
      options.jobs = jobs;
      std::vector<SearchProgress> told;
      const SearchResult found = search::search(fire_modules(modules), rules, cost::Roofline(), options, {},
                                                [&](const SearchProgress& now) { told.push_back(now); });
      REQUIRE(found.cost_after < found.cost_before);
      REQUIRE(told.size() > 2);
      CHECK(told.back().best == found.cost_after);
      std::size_t first = 0;  // graphs expanded until the first gain
      for (std::size_t i = 0; i < told.size(); ++i) {
        CHECK(told[i].before == found.cost_before);
        CHECK(told[i].best <= found.cost_before);
        CHECK(told[i].expanded <= found.counts.expanded);
        if (i > 0) CHECK(told[i].expanded >= told[i - 1].expanded);
        if (told[i].best < found.cost_before && first == 0) first = told[i].expanded;
      }
      CHECK(first > 0);
      CHECK(first < found.counts.expanded);
    }
}

TEST_CASE("a region is a separate graph, and its key has everything that its search depends on") {
  const Graph graph = fire_modules(6);
  Store store;
  Program program(store, graph);
  const cost::Roofline kernels;
  const Prices prices(program, kernels);
  const auto pieces = pieces_of(program, 6);
  REQUIRE(pieces.size() == 6);
  std::set<std::string> keys;
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    const Region region = region_of(program, prices, ranks_of(program), pieces[i]);
    keys.insert(region.key);
    std::size_t rewritten = 0;
    for (const ops::Node* node : region.graph.nodes())
      if (node->as_operator() != nullptr && !region.surroundings.frozen.contains(node)) ++rewritten;
    CHECK(rewritten == pieces[i].size());
    for (const auto& [value, id] : region.values) CHECK(value.type() == store.type(id));
    CHECK(region.graph.outputs.size() >= 1);
  }
  CHECK(keys.size() == 2);  // nothing comes before the first one
}

TEST_CASE("a search by regions ends when nothing is left in any region") {
  // The two kernels have different sizes, so nothing can be merged.
  std::vector<rules::Rule> rules;
  for (rules::Rule& rule : rules_of_file(source_folder() / "rules/networks.rules"))
    if (rule.name == "relu-conv-shared-input") rules.push_back(std::move(rule));
  REQUIRE(rules.size() == 1);
  SearchOptions options;
  options.piece = 6;
  options.budget = 100'000;
  const SearchResult found = search::search(fire_modules(24), rules, cost::Roofline(), options);
  CHECK(found.end == SearchResult::End::exhausted);
  CHECK(found.steps.empty());
  CHECK(found.counts.expanded < 100);
}

}  // namespace taso::test
