// Steps that a result does not need are undone, and steps with unusable or much larger weights are not taken.
#include <map>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "search/program/needed_steps.h"
#include "search/rewriting/rewrite.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

const std::vector<rules::Rule>& rules() {
  static const std::vector<rules::Rule> all{
      rules::parse_rule("rule enlarged\n"
                        "  conv[strides=s, groups=g](x, w) =>"
                        " conv[strides=s, pads=[0, 1, 0, 1], groups=g](x, enlarge[kernel=[1, 3]](w))\n"
                        "  where dim(w, 2) = 1, dim(w, 3) = 1\n"),
      rules::parse_rule("rule twice\n  relu(relu(x)) => relu(x)\n"),
      rules::parse_rule("rule apart\n  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))\n"
                        "  where rank(x) = 2, rank(y) = 2, rank(z) = 2\n")};
  return all;
}

/// A program on which rules are applied by name, at their first match.
struct Walk {
  explicit Walk(Graph given)
      : graph(std::move(given)), program(store, graph), prices(program, model), compiled(compile(rules())) {
    before = cost = prices.total();
  }
  void apply(const std::string& name) {
    for (const auto& rule : compiled) {
      if (rule->name() != name) continue;
      std::shared_ptr<const Match> found;
      for (const ComputationId id : program.computations())
        find_matches(program, *rule, id, [&](Match match) {
          if (!found) found = std::make_shared<const Match>(std::move(match));
        });
      REQUIRE(found);
      Applied step;
      step.match = found;
      REQUIRE(rewrite(program, *found, step.log, &step.made));
      step.before = cost;
      step.after = cost = cost + prices.difference(program, step.log);
      prices.moved();
      applied.push_back(std::move(step));
    }
  }
  std::map<std::string, int> names() const {
    std::map<std::string, int> count;
    for (const Applied& step : applied) ++count[step.match->rule->name()];
    return count;
  }

  Graph graph;
  cost::Roofline model;
  Store store;
  Program program;
  Prices prices;
  std::vector<std::unique_ptr<RewriteRule>> compiled;
  GraphCost before, cost;
  std::vector<Applied> applied;
};

using Names = std::map<std::string, int>;

Graph convolution_and_relus(int relus) {
  std::string text =
      "graph\n  input x: float32[1, 16, 9, 9]\n  constant w: float32[16, 16, 1, 1]\n"
      "  c = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](x, w)\n";
  std::string outputs = "c";
  for (int i = 0; i < relus; ++i) {
    const std::string n = std::to_string(i);
    text += "  input y" + n + ": float32[4, " + std::to_string(i + 5) + "]\n";
    text += "  a" + n + " = relu(y" + n + ")\n  b" + n + " = relu(a" + n + ")\n";
    outputs += ", b" + n;
  }
  return parse_graph(text + "  output " + outputs + "\n");
}

/// x of 64 rows, through a narrow middle.
Graph narrow_middle(int wide, int middle) {
  const std::string n = std::to_string(wide), m = std::to_string(middle);
  return parse_graph("graph\n  input x: float32[64, " + n + "]\n  constant a: float32[" + n + ", " + m +
                     "]\n  constant b: float32[" + m + ", " + n +
                     "]\n  p = matmul(x, a)\n  y = matmul(p, b)\n  output y\n");
}

}  // namespace

TEST_CASE("an enlarged kernel that was never merged is undone, wherever it was made") {
  for (const int place : {0, 1, 2}) {
    Walk walk(convolution_and_relus(2));
    for (int i = 0; i < 3; ++i) walk.apply(i == place ? "enlarged" : "twice");
    REQUIRE(walk.applied.size() == 3);
    AppliedSteps steps(walk.program, walk.prices, walk.before, walk.applied);
    keep_needed_steps(steps, walk.prices, {});
    CHECK(walk.names() == Names{{"twice", 2}});
    CHECK(walk.prices.total() == steps.cost());
    CHECK(walk.applied[0].before == walk.before);
  }
}

TEST_CASE("a step stays if the result is worse without it in another respect") {
  Walk walk(convolution_and_relus(1));
  walk.apply("enlarged");
  walk.apply("twice");
  AppliedSteps steps(walk.program, walk.prices, walk.before, walk.applied);
  NeededStepsOptions options;
  options.is_as_good = [] { return false; };
  const ProgramHash hash = walk.program.hash();
  keep_needed_steps(steps, walk.prices, options);
  CHECK(walk.applied.size() == 2);
  CHECK(walk.program.hash() == hash);
}

TEST_CASE("unneeded steps are found among a thousand") {
  Walk walk(convolution_and_relus(400));
  walk.apply("enlarged");
  const auto& rule = *walk.compiled[1];
  std::vector<Match> matches;
  for (const ComputationId id : walk.program.computations())
    find_matches(walk.program, rule, id, [&](Match match) { matches.push_back(std::move(match)); });
  for (Match& match : matches) {
    Applied step;
    step.match = std::make_shared<const Match>(std::move(match));
    REQUIRE(rewrite(walk.program, *step.match, step.log, &step.made));
    step.before = walk.cost;
    step.after = walk.cost = walk.cost + walk.prices.difference(walk.program, step.log);
    walk.prices.moved();
    walk.applied.push_back(std::move(step));
  }
  AppliedSteps steps(walk.program, walk.prices, walk.before, walk.applied);
  keep_needed_steps(steps, walk.prices, {});
  CHECK(walk.names() == Names{{"twice", 400}});
}

TEST_CASE("a product with a narrow middle is not multiplied out if bytes of weights count") {
  const cost::Roofline prices;
  SearchOptions options;
  const Graph graph = narrow_middle(512, 16);
  REQUIRE(search::search(graph, rules(), prices, options).steps.size() == 1);
  options.price_of_weight_byte = price_of_weight_byte;
  CHECK(search::search(graph, rules(), prices, options).steps.empty());
  options.price_of_weight_byte = 0;
  options.most_growth = 0.5;
  for (const int wide : {32, 64, 512})
    CHECK(search::search(narrow_middle(wide, 4), rules(), prices, options).steps.empty());
  // A wide one is multiplied out.
  options.price_of_weight_byte = price_of_weight_byte;
  const SearchResult found = search::search(narrow_middle(64, 512), rules(), prices, options);
  CHECK(found.steps.size() == 1);
  CHECK(found.cost_after < found.cost_before);
  // By run time, too.
  options.time_of_run = [](const Graph& one, cost::Layout) {
    cost::Cost products = 0;
    for (const ops::Node* node : one.nodes()) products += node->as_operator() != nullptr;
    return RunTime{products * 1'000'000, products * 1'000'000};
  };
  options.most_growth.reset();
  CHECK(search::search(graph, rules(), prices, options).steps.empty());
}

TEST_CASE("a step with an unusable weight is left out, and others stay") {
  const Graph graph = parse_graph(
      "graph\n  input x: float32[8, 64]\n  input z: float32[4, 4]\n  constant a: float32[64, 64]\n"
      "  constant b: float32[64, 64]\n  constant c: float32[64, 64]\n  p = matmul(x, a)\n  y = matmul(p, b)\n"
      "  r = relu(z)\n  s = relu(r)\n  q = matmul(x, c)\n  t = matmul(q, b)\n  output y, s, t\n");
  SearchOptions options;
  REQUIRE(search::search(graph, rules(), cost::Roofline(), options).steps.size() == 3);
  std::size_t asked = 0;
  options.is_usable = [&](const Value& value) {
    ++asked;
    Graph one;
    one.outputs = {value};
    return ops::text_of(one).find(" a:") == std::string::npos;
  };
  const SearchResult found = search::search(graph, rules(), cost::Roofline(), options);
  CHECK(asked >= 2);
  REQUIRE(found.steps.size() == 2);
  CHECK(ops::text_of(found.graph).find("matmul(a") == std::string::npos);
  CHECK(ops::text_of(found.graph).find("matmul(c, b)") != std::string::npos);
}

namespace {

std::vector<rules::Rule> merging() {
  std::vector<rules::Rule> merging = rules_of_file(source_folder() / "tests/search/golden.rules");
  std::erase_if(merging, [](const rules::Rule& rule) { return rule.name != "shared-left-factor"; });
  REQUIRE(merging.size() == 1);
  return merging;
}

}  // namespace

TEST_CASE("a weight that is joined with many others counts as often as it is stored") {
  // One weight of 256 KB that all products share, and 16 KB for each of them: 320 KB.
  std::string text = "graph\n  constant w: float32[256, 256]\n", outputs;
  for (const std::string i : {"0", "1", "2", "3"}) {
    text += "  input x" + i + ": float32[16, 256]\n  constant v" + i + ": float32[256, 16]\n";
    text += "  a" + i + " = matmul(x" + i + ", w)\n  b" + i + " = matmul(x" + i + ", v" + i + ")\n";
    outputs += (outputs.empty() ? "a" : ", a") + i + ", b" + i;
  }
  const Graph graph = parse_graph(text + "  output " + outputs + "\n");
  SearchOptions options;
  REQUIRE(search::search(graph, merging(), cost::Roofline(), options).steps.size() == 4);
  // The first three merges store it once more each, the last one does not.
  for (const auto& [growth, merged] : std::vector<std::pair<double, std::size_t>>{{0.5, 0}, {1, 1}, {2, 2}, {3, 4}}) {
    options.most_growth = growth;
    const SearchResult found = search::search(graph, merging(), cost::Roofline(), options);
    CHECK(found.steps.size() == merged);
    CHECK((found.cost_after < found.cost_before) == (merged > 0));
  }
}

TEST_CASE("weights that several products share are still joined") {
  // As in the steps of a recurrent network: until the last product is merged, the weights also exist separately.
  std::string text = "graph\n  constant a: float32[512, 512]\n  constant b: float32[512, 512]\n", outputs;
  for (const std::string x : {"x", "y", "z"}) {
    text += "  input " + x + ": float32[1, 512]\n";
    for (const std::string w : {"a", "b"}) {
      text += "  " + x + w + " = matmul(" + x + ", " + w + ")\n";
      outputs += (outputs.empty() ? "" : ", ") + x + w;
    }
  }
  const Graph graph = parse_graph(text + "  output " + outputs + "\n");
  SearchOptions options;
  REQUIRE(search::search(graph, merging(), cost::Roofline(), options).steps.size() == 3);
  options.price_of_weight_byte = price_of_weight_byte;
  options.most_growth = 0.1;
  CHECK(search::search(graph, merging(), cost::Roofline(), options).steps.size() == 3);
}

}  // namespace taso::test
