// The steps of a search are replayed, and lead to the graph that it found and to the model that was written.
#include "verifier/replay/replay.h"

#include "cost/pricing/roofline.h"
#include "onnx/import/import.h"
#include "ops/text/graph_text.h"
#include "search/search.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "tests/search/rule_graph.h"
#include "tests/verifier/certified_model.h"
#include "verifier/replay/replay_certificate.h"
#include "verifier/replay/same_graph.h"

namespace taso::test {

using namespace verifier;

TEST_CASE("the steps of random searches are replayed") {
  const auto rules = sound_rules();
  RuleGraphs graphs(rules);
  ReplayRules ready(rules);
  search::SearchOptions options;
  options.alpha = 1.2;
  options.budget = 25;
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Graph graph = graphs.make(seed, 4);
    const search::SearchResult result = search::search(graph, rules, cost::Roofline(), options);
    INFO("seed " << seed << "\n" << ops::text_of(graph) << "became\n" << ops::text_of(result.graph));
    Replay replay(graph);
    for (const rules::RewriteStep& step : result.steps) {
      INFO("step " << step.rule);
      REQUIRE(replay.take(step, ready).value_or("") == "");
      ++steps;
    }
    REQUIRE(replay.graph().outputs == result.graph.outputs);
  }
  CHECK(steps > 100);
}

TEST_CASE("merged values are replayed") {
  const Graph graph = parse_graph(R"(graph
    input x: float32[4, 8]
    a = relu(x)
    b = relu(a)
    c = sigmoid(a)
    d = sigmoid(b)
    e = tanh(c)
    f = tanh(d)
    output e, f)");
  const std::vector<rules::Rule> rules{rules::parse_rule("rule twice\n  relu(relu(x)) => relu(x)\n")};
  const search::SearchResult result = search::search(graph, rules, cost::Roofline());
  REQUIRE(result.steps.size() == 1);
  CHECK(result.steps[0].merged.size() == 2);
  ReplayRules ready(rules);
  Replay replay(graph);
  REQUIRE(replay.take(result.steps[0], ready).value_or("") == "");
  CHECK(replay.graph().outputs == result.graph.outputs);
  CHECK(replay.graph().outputs[0] == replay.graph().outputs[1]);

  rules::RewriteStep wrong = result.steps[0];
  wrong.merged[0].second = 0;
  CHECK(Replay(graph).take(wrong, ready).value_or("").find("same way") != std::string::npos);
}

TEST_CASE("a refused step leaves nothing behind") {
  const Graph graph = parse_graph("graph\ninput x: float32[4]\na = relu(x)\nb = relu(a)\noutput b");
  const rules::Rule rule = rules::parse_rule("rule twice\n  relu(relu(x)) => relu(x)\n");
  const search::SearchResult result = search::search(graph, {rule}, cost::Roofline());
  REQUIRE(result.steps.size() == 1);
  rules::RewriteStep wrong = result.steps[0];
  wrong.merged.emplace_back(1, 0);
  ReplayRules one({rule}), two({rule, rule});  // two rules may have the same name
  const std::string reason = Replay(graph).take(wrong, one).value_or("");
  CHECK(reason.find("same way") != std::string::npos);
  CHECK(Replay(graph).take(wrong, two).value_or("") == reason);
}

TEST_CASE("numbers that are attributes in ONNX may be rounded, those that are operands may not") {
  const auto differ = [](const std::string& type, const std::string& expected, const std::string& actual) {
    const auto graph = [&](const std::string& op) {
      return parse_graph("graph\ninput x: " + type + "[4]\ny = " + op + "(x)\noutput y");
    };
    return verifier::difference(graph(expected), graph(actual), [](const Value&) { return "y"; }).has_value();
  };
  const std::string tenth = "0.1", rounded = "0.10000000149011612";  // the nearest in single precision
  CHECK_FALSE(differ("float64", "leaky_relu[alpha=" + tenth + "]", "leaky_relu[alpha=" + rounded + "]"));
  CHECK(differ("float64", "leaky_relu[alpha=" + rounded + "]", "leaky_relu[alpha=" + tenth + "]"));
  for (const std::string op : {"clip[high=", "clip[low=", "pad[before=[1], after=[1], value="}) {
    INFO(op);
    CHECK(differ("float64", op + tenth + "]", op + rounded + "]"));
    CHECK_FALSE(differ("float64", op + tenth + "]", op + tenth + "]"));
    CHECK_FALSE(differ("float32", op + tenth + "]", op + rounded + "]"));
    CHECK(differ("float16", op + tenth + "]", op + rounded + "]"));
  }
}

TEST_CASE("certificates of random models are accepted") {
  const auto rules = sound_rules();
  RuleGraphs graphs(rules);
  search::SearchOptions options;
  options.alpha = 1.1;
  options.budget = 20;
  std::size_t steps = 0, models = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Graph graph = graphs.make(seed, 4);
    const auto certified = certify(graph, rules, options);
    if (!certified) continue;
    const std::string text = rules::print(certified->certificate);
    const rules::RewriteCertificate again = rules::parse_certificate(text);
    REQUIRE(again == certified->certificate);
    INFO("seed " << seed << "\n"
                 << ops::text_of(graph) << "became\n"
                 << ops::text_of(onnx::import_model(onnx::view_of(certified->after)).graph) << text);
    const CertificateVerdict verdict = replay_certificate(again, certified->before, certified->after, rules);
    CHECK(verdict.reason == "");
    CHECK(verdict.accepted);
    ++models;
    steps += again.steps.size();
  }
  CHECK(models > 100);
  CHECK(steps > 100);
}

TEST_CASE("constants are put together in any groups") {
  const auto graph_of = [](const std::string& text) { return parse_graph("graph\n" + text); };
  const std::string leaves = R"(
    input x: float32[2]
    constant a: float32[1] = [1]
    constant b: float32[1] = [2]
)";
  const Graph left = graph_of(leaves + R"(    ab = concat[axis=0](a, b)
    y = concat[axis=0](ab, x)
    output y)");
  const Graph right = graph_of(leaves + R"(    bx = concat[axis=0](b, x)
    y = concat[axis=0](a, bx)
    output y)");
  const Graph wrong = graph_of(leaves + R"(    ax = concat[axis=0](a, x)
    y = concat[axis=0](b, ax)
    output y)");
  const auto describe = [](const Value&) { return std::string("y"); };
  CHECK_FALSE(verifier::difference(left, right, describe));
  CHECK_FALSE(verifier::difference(right, left, describe));
  CHECK(verifier::difference(left, wrong, describe).value_or("") == "y: its numbers differ");
}

TEST_CASE("a node with branches must occur as often as before, even if it can run") {
  proto::ModelProto proto = test::subgraph_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  proto::NodeProto again = graph.node(graph.node_size() - 1);
  REQUIRE(again.op_type() == "If");
  again.set_output(0, "again");
  *graph.add_node() = again;
  test::declare(*graph.add_output(), "again", {2});
  onnx::Model twice(proto, {});
  graph.mutable_node()->RemoveLast();
  graph.mutable_output(graph.output_size() - 1)->set_name("z");
  onnx::Model once(proto, {});
  const onnx::ImportedModel wanted = onnx::import_model(onnx::view_of(twice)),
                            given = onnx::import_model(onnx::view_of(once));
  const auto describe = [](const Value&) { return std::string("z"); };
  CHECK(!verifier::difference(wanted.graph, wanted.graph, describe));
  CHECK(verifier::difference(wanted.graph, given.graph, describe) == "z: If occurred twice");
  CHECK(verifier::difference(given.graph, wanted.graph, describe) == "z: If occurs twice");
}

}  // namespace taso::test
