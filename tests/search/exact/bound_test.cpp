// Lower limits of the cost of graphs, compared with plans, and with all graphs that an exhaustive search reaches.
#include "search/exact/bound.h"

#include "cost/pricing/call.h"
#include "cost/pricing/recorded_prices.h"
#include "ops/text/graph_text.h"
#include "search/exact/integer_program.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"
#include "tests/search/rule_graph.h"

namespace taso::test {
namespace {

using search::Bound;
using search::BoundOptions;

/// Random recorded prices of some of the kernels of a graph; others are predicted, some with caution.
std::unique_ptr<cost::RecordedPrices> some_prices(const Graph& graph, Random& random, cost::Layout layout) {
  auto database = std::make_shared<cost::PriceDatabase>();
  const cost::WholeGraph view(graph, {}, layout);
  const std::vector<cost::Kernel> kernels = cost::kernels_of(view);
  for (const cost::Kernel& kernel : kernels) {
    if (!cost::can_be_called(view, kernel) || random.chance(0.5)) continue;
    cost::RecordedPrice price;
    price.nanoseconds = static_cast<double>(1 + random.below(5000));
    database->set("machine", cost::text_of(cost::call_of(view, kernel, cost::Precision::tf32).call), price);
  }
  auto prices = std::make_unique<cost::RecordedPrices>(database, "machine", cost::Precision::tf32);
  prices->set_caution(1.5);
  if (layout == cost::Layout::onnxruntime) {
    prices->set_onnxruntime();
    prices->fit(view, kernels);
  }
  for (const cost::Kernel& kernel : kernels)
    if (random.chance(0.5)) prices->trust(view, kernel);
  return prices;
}

/// All shipped rules, ready for use.
struct AllRules {
  std::vector<rules::Rule> rules = shipped_rules();
  decltype(search::compile(rules)) compiled = search::compile(rules);
  std::vector<const search::RewriteRule*> all;
  AllRules() {
    for (const auto& rule : compiled) all.push_back(rule.get());
  }
};

BoundOptions options_for(cost::Layout layout) {
  BoundOptions options;
  options.choosing.pricing.layout = layout;
  options.saturation.most_computations = 400;
  options.saturation.most_rounds = 4;
  return options;
}

}  // namespace

TEST_CASE("the least prices of operators never exceed the price of a plan") {
  if (!search::has_cbc()) return;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Graph graph = random_plan_graph(random, static_cast<std::int64_t>(1 + seed % 2), 4 + seed % 20);
    for (const cost::Layout layout :
         {cost::Layout::channels_first, cost::Layout::channels_last, cost::Layout::onnxruntime}) {
      const BoundOptions options = options_for(layout);
      const auto check_with = [&](const cost::KernelPrices& prices) {
        CHECK(search::bound_of(graph, graph, {}, prices, options).least <=
              cost::plan(graph, prices, options.choosing.pricing).cost);
      };
      check_with(cost::LaunchCount());
      if (layout != cost::Layout::onnxruntime) check_with(cost::Roofline());
      check_with(*some_prices(graph, random, layout));
    }
  }
}

TEST_CASE("no graph that a search reaches costs less than the bound") {
  if (!search::has_cbc()) return;
  const AllRules shipped;
  const RuleGraphs graphs(shipped.rules);
  cost::RecordedPrices of_onnxruntime(std::make_shared<cost::PriceDatabase>(), "machine", cost::Precision::fp32);
  of_onnxruntime.set_onnxruntime();
  std::size_t saturated = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const Graph graph = graphs.make(seed, 1 + seed % 2);
    const auto check_with = [&](const cost::KernelPrices& prices, cost::Layout layout) {
      search::SearchOptions searching;
      searching.alpha = 1e6;  // everything that can be reached, up to the budget
      searching.budget = 60;
      searching.piece = 0;
      searching.layout = layout;
      const search::SearchResult found = search::search(graph, shipped.rules, prices, searching);
      const BoundOptions options = options_for(layout);
      const cost::Cost best = cost::plan(found.graph, prices, options.choosing.pricing).cost;
      // If nothing more follows, it does not matter whether the result is known.
      const Bound alone = search::bound_of(graph, graph, shipped.all, prices, options);
      if (alone.saturation.is_saturated) CHECK(alone.least <= best);
      const Bound bound = search::bound_of(graph, found.graph, shipped.all, prices, options);
      CHECK(bound.least <= best);
      saturated += alone.saturation.is_saturated ? 1 : 0;
      improved += best < cost::plan(graph, prices, options.choosing.pricing).cost ? 1 : 0;
    };
    check_with(cost::LaunchCount(), cost::Layout::channels_first);
    check_with(cost::Roofline(), cost::Layout::channels_first);
    check_with(of_onnxruntime, cost::Layout::onnxruntime);
  }
  CHECK(saturated > 5);
  CHECK(improved > 5);
}

// An operator that no rule knows may cost less in another graph: a result of it may be unused there, or operands equal.
TEST_CASE("the bound does not rely on what opaque operators cost in the given graph") {
  if (!search::has_cbc()) return;
  const AllRules shipped;
  cost::RecordedPrices of_onnxruntime(std::make_shared<cost::PriceDatabase>(), "machine", cost::Precision::fp32);
  of_onnxruntime.set_onnxruntime();
  struct Case {
    const char *graph, *best;  // the same as another graph
  };
  const auto graph_of = [](const std::string& lines) { return parse_graph("graph\n" + lines); };
  const std::string inputs = "  input x: float32[1000, 1000]\n  input y: float32[1000, 1000]\n";
  for (const Case& one :
       {Case{"  a, b = opaque \"Strange\"(x) -> float32[1000, 1000], float32[1000, 1000]\n"
             "  c = concat[axis=0](a, b)\n  d, e = split[axis=0, at=1000](c)\n  z = relu(d)\n  output z\n",
             "  a, b = opaque \"Strange\"(x) -> float32[1000, 1000], float32[1000, 1000]\n  z = relu(a)\n  output z\n"},
        Case{"  c = concat[axis=0](x, y)\n  d, e = split[axis=0, at=1000](c)\n"
             "  z = opaque \"Strange\"(x, d) -> float32[1000, 1000]\n  output z\n",
             "  z = opaque \"Strange\"(x, x) -> float32[1000, 1000]\n  output z\n"}}) {
    INFO(one.graph);
    const Graph graph = graph_of(inputs + one.graph), best = graph_of(inputs + one.best);
    for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::onnxruntime}) {
      const cost::Roofline roofline;
      const cost::KernelPrices& prices =
          layout == cost::Layout::onnxruntime ? static_cast<const cost::KernelPrices&>(of_onnxruntime) : roofline;
      const BoundOptions options = options_for(layout);
      CHECK(search::bound_of(graph, graph, shipped.all, prices, options).least <=
            cost::plan(best, prices, options.choosing.pricing).cost);
    }
  }
}

// The kernel of the reduction writes as many elements as it reads.
TEST_CASE("the least price of a reduction holds where it is spread over its rows") {
  if (!search::has_cbc()) return;
  const Graph graph = parse_graph(
      "graph\n  input x: float32[33, 301]\n  m = reduce_mean[axes=[1], keep=true](x)\n"
      "  y = sub(x, m)\n  output y\n");
  cost::RecordedPrices prices(std::make_shared<cost::PriceDatabase>(), "machine", cost::Precision::tf32);
  prices.set_caution(1.5);
  const BoundOptions options = options_for(cost::Layout::channels_first);
  const cost::WholeGraph view(graph, {}, cost::Layout::channels_first);
  for (const cost::Kernel& kernel : cost::kernels_of(view)) prices.trust(view, kernel);
  CHECK(search::bound_of(graph, graph, {}, prices, options).least <= cost::plan(graph, prices).cost);
}

}  // namespace taso::test
