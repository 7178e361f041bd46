// Whatever the search makes of a graph computes the same: random graphs, all rules, and a threshold that lets it wander.
#include <cmath>

#include "cost/roofline.h"
#include "ops/graph_text.h"
#include "ops/interpreter.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

using namespace taso;

namespace {

/// Empty, or what differs. Rules are about real numbers: where something on the way is none, 0 times it is not 0, and there is
/// nothing to compare.
std::string difference(const Graph& before, const Graph& after, std::uint64_t seed) {
  Random random(seed);
  std::vector<Array> inputs;
  for (const Value& input : before.inputs) inputs.push_back(whole_array(random, extents_of(input.shape())));
  const InterpreterOptions plain{1, true};
  Graph everything = before;
  everything.outputs.clear();
  for (const Node* node : before.nodes())
    for (std::size_t i = 0; i < node->outputs().size(); ++i) everything.outputs.push_back(node->output(i));
  for (const Array& value : interpret(everything, inputs, plain))
    for (const double element : value.values<double>())
      if (!std::isfinite(element)) return {};
  const auto expected = interpret(before, inputs, plain), given = interpret(after, inputs, plain);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].extents() != given[i].extents()) return "output " + std::to_string(i) + " has another shape";
    const auto a = expected[i].values<double>(), b = given[i].values<double>();
    double scale = 1;
    for (const double value : a)
      if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (!std::isfinite(a[k]) || std::abs(a[k]) > 1e100) continue;  // of what is no number, rules say nothing
      if (!(std::abs(a[k] - b[k]) <= 1e-9 * scale))
        return "output " + std::to_string(i) + " at " + std::to_string(k) + ": " + std::to_string(a[k]) + " became " +
               std::to_string(b[k]);
    }
  }
  return {};
}

/// What is wrong with the numbers of the steps on the face of it: whether the steps are right is for the verifier to say.
std::string flaw_of(const Graph& graph, const SearchResult& result) {
  ValueNumber next = 0;
  for (const Node* node : graph.nodes()) next += node->outputs().size();
  Cost cost = result.cost_before;
  for (const RewriteStep& step : result.steps) {
    for (const auto& [name, value] : step.inputs)
      if (value >= next) return "an input of " + step.rule + " that nobody made";
    for (const ValueNumber value : step.replaced)
      if (value >= next) return step.rule + " replaces what nobody made";
    for (const RewriteStep::Made& made : step.made)
      for (const ValueNumber value : made.results) {
        if (value > next) return "a value that " + step.rule + " makes does not have the next number";
        next = std::max(next, value + 1);
      }
    for (const auto& [value, other] : step.merged)
      if (value >= next || other >= next || value == other) return "a wrong merge in " + step.rule;
    if (step.cost_before != cost) return "costs that do not follow one another";
    cost = step.cost_after;
  }
  return cost == result.cost_after ? "" : "costs that do not lead to the last one";
}

struct Campaign {
  std::size_t graphs = 0, changed = 0, steps = 0;
};

Campaign run(const std::vector<Rule>& rules, std::uint64_t first, std::size_t count, std::size_t parts,
             const SearchOptions& options) {
  RuleGraphs graphs(rules);
  Campaign campaign;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Graph graph = graphs.make(seed, parts);
    const std::string text = text_of(graph);
    const SearchResult result = search(graph, rules, Roofline(), options);
    INFO("seed " << seed << "\n" << text << "became\n" << text_of(result.graph));
    for (const RewriteStep& step : result.steps) UNSCOPED_INFO("by " << step.rule);
    REQUIRE(result.cost_after <= result.cost_before);
    REQUIRE(difference(graph, result.graph, seed) == "");
    REQUIRE(flaw_of(graph, result) == "");
    ++campaign.graphs;
    campaign.changed += !result.steps.empty();
    campaign.steps += result.steps.size();
  }
  return campaign;
}

}  // namespace

TEST_CASE("random graphs compute the same after any rewrites") {
  SearchOptions options;
  options.alpha = 1.2;
  options.budget = 25;
  const Campaign campaign = run(sound_rules(), 1, 150, 4, options);
  CHECK(campaign.changed > campaign.graphs / 3);
  CHECK(campaign.steps > campaign.graphs / 2);
}

TEST_CASE("random graphs compute the same when they are searched piece by piece") {
  SearchOptions options;
  options.alpha = 1.2;
  options.budget = 80;
  options.piece = 2;
  const Campaign campaign = run(sound_rules(), 5000, 60, 12, options);
  CHECK(campaign.changed > campaign.graphs / 2);
}

TEST_CASE("what a wrong rule does is noticed") {
  const std::vector<Rule> wrong{parse_rule("rule wrong\n  relu(sub(x, y)) => sub(relu(x), y)\n")};
  SearchOptions options;
  options.alpha = 1.2;
  RuleGraphs graphs(wrong);
  std::size_t noticed = 0;
  struct Cheapest : KernelPrices {  // so that it is always applied
    Cost price(const GraphView& view, const Kernel& kernel) const override {
      for (const PlanNode node : kernel.nodes)
        if (name_of(*view.op(node)) == "relu" && view.op(view.producer(view.operand(node, 0))) != nullptr) return 100;
      return 1;
    }
  };
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const Graph graph = graphs.make(seed, 2);
    noticed += difference(graph, search(graph, wrong, Cheapest(), options).graph, seed) != "";
  }
  CHECK(noticed > 5);
}

TEST_CASE("random graphs compute the same after thousands of searches", "[.][full]") {
  SearchOptions options;
  options.alpha = 1.2;
  options.budget = 40;
  run(sound_rules(), 1000, 3000, 6, options);
}

TEST_CASE("random graphs compute the same after searches by properties, in both directions", "[.][full]") {
  SearchOptions options;
  options.alpha = 1.2;
  options.budget = 20;
  run(rules_of_file(source_folder() / "rules/properties.rules"), 1, 1000, 5, options);
}
