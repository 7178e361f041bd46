// Values with very many users: all pairs of these match a rule, and the search must stay within its limits.
#include <atomic>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

/// `count` products of one value, which is computed or an input; with `joined`, the results form one tensor.
Graph products(std::size_t count, bool computed, bool joined) {
  std::string text = "graph\n  input i: float32[8, 64]\n  x = relu(i)\n", outputs;
  for (std::size_t n = 0; n < count; ++n) {
    text += fmt::format("  constant w{0}: float32[64, 64]\n  m{0} = matmul({1}, w{0})\n", n, computed ? "x" : "i");
    if (!joined) outputs += fmt::format("{}m{}", n > 0 ? ", " : "", n);
    if (joined)
      text += n == 0 ? "  c0 = relu(m0)\n"
                     : fmt::format("  r{0} = relu(m{0})\n  c{0} = concat[axis=1](c{1}, r{0})\n", n, n - 1);
  }
  return parse_graph(text + "  output " + (joined ? fmt::format("c{}", count - 1) : outputs) + "\n");
}

std::vector<rules::Rule> merging() {
  std::vector<rules::Rule> rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  std::erase_if(rules, [](const rules::Rule& rule) { return rule.name != "shared-left-factor"; });
  REQUIRE(rules.size() == 1);
  return rules;
}

/// Counts how often it is called.
class Counted : public cost::KernelPrices {
 public:
  cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
    ++asked;
    return roofline_.price(view, kernel);
  }
  mutable std::atomic<std::size_t> asked{0};

 private:
  cost::Roofline roofline_;
};

std::size_t matmuls_in(const Graph& graph) {
  std::size_t count = 0;
  for (const ops::Node* node : graph.nodes())
    count += node->as_operator() != nullptr && std::holds_alternative<op::MatMul>(*node->as_operator());
  return count;
}

}  // namespace

TEST_CASE("the watcher can stop a search during the first matching") {
  const Graph graph = products(70, true, false);
  const cost::Roofline prices;
  for (const bool in_the_whole : {true, false}) {
    SearchOptions options;
    options.piece = in_the_whole ? 10 : 0;  // steps in the whole graph before regions, or one region
    std::stop_source stop;
    const SearchResult found = search::search(graph, merging(), prices, options, stop.get_token(),
                                              [&](const SearchProgress&) { stop.request_stop(); });
    CHECK(found.end == SearchResult::End::stopped);
    CHECK(found.counts.matched < 70);  // of 2,415
    // Time, like a stop, is checked between two matches; matches found so far count.
    options.time_budget = std::chrono::duration<double>(0.02);
    const SearchResult late = search::search(graph, merging(), prices, options);
    CHECK(late.end == SearchResult::End::time);
    CHECK(late.cost_after <= late.cost_before);
  }
}

TEST_CASE("users of one value are priced once, not for every pair") {
  for (const bool computed : {true, false}) {
    const Counted prices;
    SearchOptions options;
    options.piece = 10;
    options.budget = 1;
    const SearchResult found = search::search(products(60, computed, false), merging(), prices, options);
    CHECK(found.counts.matched >= 1770);  // the search also checks at the end that the costs are up to date
    CHECK(prices.asked < 30 * found.counts.matched);
  }
}

TEST_CASE("very many products of one value become one") {
  for (const bool joined : {false, true})
    for (const bool computed : {false, true}) {
      // Down to few users: below some number they affect each other.
      const SearchResult found = search::search(products(24, computed, joined), merging(), cost::Roofline(), {});
      CHECK(found.cost_after < found.cost_before);
      if (!joined) CHECK(matmuls_in(found.graph) == 1);
    }
}

}  // namespace taso::test
