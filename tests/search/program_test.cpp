// The current graph of the search, changed and restored.
#include <map>
#include <set>

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "ops/text/graph_text.h"
#include "search/pieces.h"
#include "search/prices.h"
#include "search/program/extract.h"
#include "search/rewriting/rewrite.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"
#include "tests/search/golden_case.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

std::vector<Match> matches_in(Program& program, const std::vector<std::unique_ptr<RewriteRule>>& rules) {
  std::vector<Match> matches;
  for (const ComputationId id : program.computations())
    for (const auto& rule : rules)
      find_matches(program, *rule, id, [&](Match match) { matches.push_back(std::move(match)); });
  return matches;
}

}  // namespace

TEST_CASE("a program goes to its graph and back") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomGraphOptions options;
    options.opaque = 0.2;
    options.nodes = 12;
    const Graph graph = random_graph(seed, options);
    Store store;
    Program program(store, graph);
    CHECK(program.size() == graph.nodes().size());
    Extractor extractor(program, graph);
    const Graph again = extractor.graph();
    CHECK(again.outputs == graph.outputs);
    CHECK(equal(again, graph));
  }
}

TEST_CASE("rewrites can be undone, and a graph looks the same however it was reached") {
  const auto rules = compile(sound_rules());
  RuleGraphs graphs(sound_rules());
  cost::Roofline model;
  std::size_t taken = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = graphs.make(seed, 4);
    Store store;
    Program program(store, graph);
    Prices prices(program, model, {{}, static_cast<cost::Layout>(seed % 3)});
    Random random(seed);
    struct Stop {
      ProgramHash hash;
      std::string text;
      Program::Log log;
    };
    std::vector<Stop> way;
    GraphCost cost = prices.total();
    for (int step = 0; step < 6; ++step) {
      auto matches = matches_in(program, rules);
      if (matches.empty()) break;
      Stop stop{program.hash(), ops::text_of(Extractor(program, graph).graph()), {}};
      if (!rewrite(program, random.pick(matches), stop.log)) {
        REQUIRE(program.hash() == stop.hash);
        REQUIRE(ops::text_of(Extractor(program, graph).graph()) == stop.text);
        continue;
      }
      cost += prices.difference(program, stop.log);
      prices.moved();
      REQUIRE(prices.total() == cost);  // also checks that every computation is needed, and that there is no cycle
      REQUIRE(program.hash() != stop.hash);
      way.push_back(std::move(stop));
      ++taken;
    }
    const ProgramHash last = program.hash();
    const std::string last_text = ops::text_of(Extractor(program, graph).graph());
    for (auto stop = way.rbegin(); stop != way.rend(); ++stop) {
      program.undo(stop->log);
      REQUIRE(program.hash() == stop->hash);
      REQUIRE(ops::text_of(Extractor(program, graph).graph()) == stop->text);
    }
    for (const Stop& stop : way) program.redo(stop.log);
    REQUIRE(program.hash() == last);
    REQUIRE(ops::text_of(Extractor(program, graph).graph()) == last_text);
  }
  CHECK(taken > 100);
}

TEST_CASE("what is computed from a turned value follows when that becomes a mere view") {
  const Graph graph = parse_graph(R"(graph
    input z: float32[1, 8, 9, 16]
    input w: float32[1, 16, 9, 8]
    a = transpose[permutation=[0, 2, 1, 3]](z)
    b = relu(a)
    t = transpose[permutation=[0, 3, 1, 2]](b)
    u = tanh(t)
    k = concat[axis=1](u, w)
    l, m = split[axis=1, at=16](k)
    v = add(l, w)
    n = concat[axis=2](v, u)
    o = relu(n)
    y = average_pool[kernel=[2, 2], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](o)
    output y, m, u)");
  const auto rules = compile(
      {rules::parse_rule("rule r\n  relu(transpose[permutation=p](x)) => transpose[permutation=p](relu(x))\n")});
  for (const cost::Layout layout : cost::layouts) {
    Store store;
    Program program(store, graph);
    const cost::Roofline model;
    Prices prices(program, model, {{}, layout});
    const auto matches = matches_in(program, rules);
    REQUIRE(matches.size() == 1);
    const GraphCost before = prices.total();
    Program::Log log;
    REQUIRE(rewrite(program, matches[0], log));
    const GraphCost after = before + prices.difference(program, log);
    prices.moved();
    CHECK(prices.total() == after);
  }
}

TEST_CASE("two rewrites in either order give one graph") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[4, 8]
    input y: float32[4, 8]
    a = relu(x)
    b = relu(y)
    c = concat[axis=0](a, b)
    d = sigmoid(x)
    e = sigmoid(y)
    f = concat[axis=0](d, e)
    output c, f)");
  const auto rules =
      compile({rules::parse_rule("rule r\n  concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))\n"),
               rules::parse_rule("rule s\n  concat[axis=a](sigmoid(x), sigmoid(y))\n"
                                 "    => sigmoid(concat[axis=a](x, y))\n")});
  Store store;
  Program program(store, graph);
  const auto matches = matches_in(program, rules);
  REQUIRE(matches.size() == 2);
  std::vector<ProgramHash> ends;
  for (const bool turned : {false, true}) {
    Program::Log first, second;
    REQUIRE(rewrite(program, matches[turned], first));
    REQUIRE(rewrite(program, matches[!turned], second));
    CHECK(program.size() == 5);  // the concatenation is shared
    ends.push_back(program.hash());
    program.undo(second);
    program.undo(first);
  }
  CHECK(ends[0] == ends[1]);
}

TEST_CASE("a value used elsewhere stays, if there are fewer operators nevertheless") {
  const auto rules =
      compile({rules::parse_rule("rule back\n  transpose[permutation=inverse(p)](transpose[permutation=p](x)) => x\n"),
               rules::parse_rule("rule associates\n  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))\n"),
               rules::parse_rule("rule twice\n  relu(relu(x)) => relu(x)\n")});
  const auto applied = [&](const std::string& text) {
    const Graph graph = parse_graph("graph\n  input x: float32[4, 4]\n  input y: float32[4, 4]\n" + text);
    Store store;
    Program program(store, graph);
    std::size_t count = 0;
    for (const Match& match : matches_in(program, rules)) {
      Program::Log log;
      if (!rewrite(program, match, log)) continue;
      ++count;
      program.undo(log);
    }
    return count;
  };
  CHECK(applied("  a = matmul(x, y)\n  b = matmul(a, y)\n  output b\n") == 1);
  // Two products instead of one, beside the one in use.
  CHECK(applied("  a = matmul(x, y)\n  b = matmul(a, y)\n  output b, a\n") == 0);
  // There and back, and further uses.
  const std::string there = "  a = transpose[permutation=[1, 0]](x)\n  b = transpose[permutation=[1, 0]](a)\n";
  CHECK(applied(there + "  c = tanh(b)\n  d = tanh(a)\n  output c, d\n") == 1);
  CHECK(applied(there + "  output b, a\n") == 1);
  // The target contains the value that is used elsewhere.
  CHECK(applied("  a = relu(x)\n  b = relu(a)\n  c = tanh(a)\n  output b, c\n") == 1);
}

TEST_CASE("a search reports why it ended") {
  const Graph graph = read_golden(source_folder() / "tests/search/golden/attention-projections.graph").graph;
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  const cost::Roofline model;
  SearchOptions options;
  CHECK(search::search(graph, rules, model, options).end == SearchResult::End::exhausted);
  options.budget = 2;
  const SearchResult short_of = search::search(graph, rules, model, options);
  CHECK(short_of.end == SearchResult::End::budget);
  CHECK(short_of.counts.expanded == 2);
  CHECK(short_of.cost_after < short_of.cost_before);
  options.budget = 1;
  const SearchResult shortest = search::search(graph, rules, model, options);
  CHECK(shortest.cost_after < shortest.cost_before);  // a queued graph that is better is not lost
  options.budget = 1000;
  options.time_budget = std::chrono::duration<double>(0);
  const SearchResult late = search::search(graph, rules, model, options);
  CHECK(late.end == SearchResult::End::time);
  CHECK(late.steps.empty());
  options.time_budget.reset();
  std::stop_source stop;
  stop.request_stop();
  CHECK(search::search(graph, rules, model, options, stop.get_token()).end == SearchResult::End::stopped);
  std::size_t seen = 0;
  search::search(graph, rules, model, options, {}, [&](const SearchProgress& progress) {
    CHECK(progress.expanded >= seen);
    CHECK(progress.best <= progress.before);
    seen = progress.expanded;
  });
  CHECK(seen > 0);
}

TEST_CASE("direct rules are used only for steps that pay at once") {
  const auto searched = [](const std::string& name, bool direct) {
    GoldenCase golden = read_golden(source_folder() / "tests/search/golden" / (name + ".graph"));
    if (direct) std::swap(golden.rules, golden.options.direct_rules);
    return search::search(golden.graph, golden.rules, cost::Roofline(), golden.options);
  };
  const SearchResult at_once = searched("attention-projections", true);
  CHECK(at_once.cost_after == searched("attention-projections", false).cost_after);
  CHECK(at_once.cost_after < at_once.cost_before);
  // A kernel is enlarged first, which costs something.
  const SearchResult later = searched("enlarged-then-merged", true);
  CHECK(later.cost_after == later.cost_before);
  CHECK(later.steps.empty());
  const SearchResult both = searched("enlarged-then-merged", false);
  CHECK(both.cost_after < both.cost_before);
}

TEST_CASE("unrelated rewrites do not hide a path of several steps") {
  std::vector<rules::Rule> rules{
      rules::parse_rule("rule back\n  transpose[permutation=inverse(p)](transpose[permutation=p](x)) => x\n")};
  for (const std::string name : {"tanh", "sigmoid", "exp", "relu"})
    rules.push_back(rules::parse_rule("rule up-" + name + "\n  " + name +
                                      "(transpose[permutation=p](x)) => transpose[permutation=p](" + name + "(x))\n"));
  // Three steps that change nothing lead to one that saves two transpositions. Elsewhere such steps lead nowhere: all
  // their combinations are thousands of graphs.
  std::string text = "graph\n  input x: float32[64, 32]\n";
  std::string outputs = "  output y";
  text += "  t = transpose[permutation=[1, 0]](x)\n  a = tanh(t)\n  s = softmax[axis=1](x)\n";
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    text += "  input x" + n + ": float32[64, 32]\n  t" + n + " = transpose[permutation=[1, 0]](x" + n + ")\n  r" + n +
            " = relu(t" + n + ")\n";
    outputs += ", r" + n;
  }
  text += "  b = sigmoid(a)\n  c = exp(b)\n  y = transpose[permutation=[1, 0]](c)\n" + outputs + ", s\n";
  SearchOptions options;
  options.budget = 60;
  options.piece = 0;
  const SearchResult found = search::search(parse_graph(text), rules, cost::Roofline(), options);
  CHECK(found.cost_after < found.cost_before);
}

TEST_CASE("pieces hold everything once and are cut where few values cross") {
  // A chain of diamonds: between two of them one value crosses, inside them several.
  std::string text = "graph\n  input x0: float32[4, 8]\n";
  for (int i = 0; i < 30; ++i)
    text += fmt::format(
        "  a{0} = relu(x{0})\n  b{0} = tanh(x{0})\n  c{0} = exp(x{0})\n  d{0} = add(a{0}, b{0})\n"
        "  x{1} = add(d{0}, c{0})\n",
        i, i + 1);
  const Graph graph = parse_graph(text + "  output x30\n");
  Store store;
  const Program program(store, graph);
  std::set<ComputationId> all;
  const auto pieces = pieces_of(program, 12);
  for (const auto& piece : pieces) {
    CHECK(piece.size() <= 16);
    CHECK(piece.size() % 5 == 0);
    all.insert(piece.begin(), piece.end());
  }
  CHECK(all.size() == 150);
  CHECK(pieces.size() >= 150 / 16);
}

TEST_CASE("a large graph is searched piece by piece, including worse steps") {
  std::string text = "graph\n  input x0: float32[1, 32, 14, 14]\n";
  for (int i = 0; i < 30; ++i)
    text += fmt::format(
        "  constant w{0}: float32[16, 32, 1, 1]\n  constant v{0}: float32[16, 32, 3, 3]\n"
        "  a{0} = conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]](x{0}, w{0})\n"
        "  b{0} = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1]](x{0}, v{0})\n"
        "  c{0} = relu(a{0})\n  d{0} = relu(b{0})\n  x{1} = concat[axis=1](c{0}, d{0})\n",
        i, i + 1);
  const Graph graph = parse_graph(text + "  output x30\n");
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  SearchOptions options;
  options.budget = 1500;
  const SearchResult result = search::search(graph, rules, cost::Roofline(), options);
  CHECK(result.counts.regions > 3);
  std::map<std::string_view, int> operators;
  for (const ops::Node* node : result.graph.nodes())
    if (node->as_operator() != nullptr) ++operators[ops::name_of(*node->as_operator())];
  CHECK(operators["conv"] == 30);
  CHECK(operators["relu"] == 30);
  options.piece = 0;  // as a whole it takes longer, with the same result
  const SearchResult whole = search::search(graph, rules, cost::Roofline(), options);
  CHECK(whole.counts.regions == 1);
  CHECK(whole.cost_after == result.cost_after);
  CHECK(whole.counts.kept > result.counts.kept);
}

TEST_CASE("graphs of any size have a cost") {
  std::string text = "graph\n  input x0: float32[2000000, 2000000]\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("  x{1} = matmul(x{0}, x{0})\n", i, i + 1);
  const Graph graph = parse_graph(text + "  output x200\n");
  const auto rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  SearchOptions options;
  options.budget = 3;
  const SearchResult result = search::search(graph, rules, cost::Roofline(), options);
  CHECK(result.cost_before == 200 * cost::highest_kernel_price);
  CHECK(result.cost_after <= result.cost_before);
}

TEST_CASE("a search gives the same result every time") {
  RuleGraphs graphs(sound_rules());
  SearchOptions options;
  options.alpha = 1.1;
  options.budget = 20;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<std::string> texts;
    for (int run = 0; run < 2; ++run) {
      const SearchResult result = search::search(graphs.make(seed, 6), sound_rules(), cost::Roofline(), options);
      texts.push_back(ops::text_of(result.graph) + std::to_string(result.counts.matched));
    }
    CHECK(texts[0] == texts[1]);
  }
}

}  // namespace taso::test
