// All rewrites and searches keep what a graph computes: random graphs over all operators, all shipped rules, and a
// threshold that lets the search wander. The program search_random tests more of them.
#include <cmath>

#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/search/campaign.h"
#include "tests/search/reduce.h"

namespace taso::test {
namespace {

void search(Campaign& campaign, std::uint64_t first, std::size_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) REQUIRE(campaign.search(seed) == "");
}

void walk(Campaign& campaign, std::uint64_t first, std::size_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) REQUIRE(campaign.walk(seed) == "");
}

std::size_t operators_in(const Graph& graph) {
  std::size_t count = 0;
  for (const ops::Node* node : graph.nodes()) count += node->as_operator() != nullptr ? 1 : 0;
  return count;
}

/// The reduced graph from a report.
Graph graph_in(const std::string& told) {
  const std::size_t begin = told.find("\ngraph\n");
  REQUIRE(begin != std::string::npos);
  return parse_graph(std::string_view(told).substr(begin + 1));
}

bool has(const Graph& graph, std::string_view name) {
  for (const ops::Node* node : graph.nodes())
    if (node->as_operator() != nullptr && ops::name_of(*node->as_operator()) == name) return true;
  return false;
}

}  // namespace

TEST_CASE("every shipped rule keeps what its source computes") {
  Campaign campaign(shipped_rules(), wandering(0));
  for (std::size_t rule = 0; rule < campaign.rules(); ++rule) REQUIRE(campaign.force(rule, 1) == "");
  INFO(campaign.summary());
  CHECK(campaign.rules() > 200);
  CHECK(campaign.missing().size() < campaign.rules() / 100);
  CHECK(campaign.tally().no_number < campaign.tally().rewrites / 100);
}

TEST_CASE("random graphs compute the same after random walks and searches by all rules") {
  Campaign campaign(shipped_rules(), wandering(10));
  walk(campaign, 1, 60);
  search(campaign, 1000, 40);
  INFO(campaign.summary());
  const Tally& tally = campaign.tally();
  CHECK(tally.rewrites > 5 * 60);
  CHECK(tally.applied.size() > 140);
  CHECK(tally.changed > tally.searches / 3);
  CHECK(tally.no_number < tally.rewrites / 5);
}

TEST_CASE("random graphs compute the same after searches by sound rules") {
  Campaign campaign(sound_rules(), wandering(25));
  search(campaign, 1, 100);
  CHECK(campaign.tally().changed > campaign.tally().searches / 3);
  CHECK(campaign.tally().steps > campaign.tally().searches / 2);
}

TEST_CASE("random graphs compute the same when they are searched piece by piece") {
  CampaignOptions options = wandering(80);
  options.search.piece = 2;
  options.makeup.parts = 12;
  Campaign campaign(sound_rules(), options);
  search(campaign, 5000, 40);
  CHECK(campaign.tally().changed > campaign.tally().searches / 2);
}

TEST_CASE("the effect of a wrong rule is noticed and reduced") {
  std::vector<rules::Rule> rules = sound_rules();
  rules.erase(rules.begin() + 20, rules.end());
  const rules::Rule wrong = rules::parse_rule("candidate wrong\n  relu(sub(x, y)) => sub(relu(x), y)\n");
  rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(rules.size() / 2), wrong);
  CampaignOptions options = wandering(20);
  options.makeup.parts = 10;
  SECTION("where it is planted") {
    Campaign campaign(rules, options);
    const std::string told = campaign.force(rules.size() / 2, 1);
    CHECK(told.find("rule wrong\n") != std::string::npos);
    CHECK(operators_in(graph_in(told)) == 2);
  }
  SECTION("in walks") {
    Campaign campaign(rules, options);
    std::size_t noticed = 0;
    for (std::uint64_t seed = 1; seed < 300 && noticed < 3; ++seed) {
      const std::string told = campaign.walk(seed);
      if (told.empty()) continue;
      INFO(told);
      ++noticed;
      CHECK(told.find("rule wrong\n") != std::string::npos);
      const Graph small = graph_in(told);
      CHECK(operators_in(small) == 2);
      CHECK(small.outputs.size() == 1);
      for (const Value& input : small.inputs)
        for (const Dim dim : input.shape()) CHECK((!dim.is_static() || dim == Dim(1)));
    }
    CHECK(noticed >= 3);
  }
  SECTION("in searches, whose rules it is found among") {
    struct Cheapest : cost::KernelPrices {  // so that it is always applied
      cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
        for (const cost::PlanNode node : kernel.nodes)
          if (view.op(node) != nullptr && ops::name_of(*view.op(node)) == "relu" &&
              view.op(view.producer(view.operand(node, 0))) != nullptr)
            return 100;
        return 1;
      }
    } cheapest;
    options.prices = &cheapest;
    Campaign campaign(rules, options);
    std::size_t noticed = 0;
    for (std::uint64_t seed = 1; seed < 300 && noticed < 3; ++seed) {
      const std::string told = campaign.search(seed);
      if (told.empty()) continue;
      INFO(told);
      ++noticed;
      CHECK(told.find("rule wrong\n") != std::string::npos);
      CHECK(operators_in(graph_in(told)) == 2);
    }
    CHECK(noticed >= 3);
  }
}

TEST_CASE("agreement distinguishes laws of the order, faults, and results that are not numbers") {
  const auto compared = [](const char* text) {
    const Graph graph = parse_graph(text);
    Graph before = graph, after = graph;
    before.outputs = {graph.outputs[0]};
    after.outputs = {graph.outputs[1]};
    return compare(before, after, 1);
  };
  const Agreement same = compared(
      "graph\n input x: float64[3]\n a = relu(x)\n b = add(a, a)\n c = add(x, x)\n d = relu(c)\n output b, d\n");
  CHECK(same.field == Agreement::Kind::agrees);
  CHECK(!same.wrong());
  const Agreement other =
      compared("graph\n input x: float64[3]\n a = relu(x)\n b = add(a, x)\n c = add(x, x)\n output b, c\n");
  CHECK(other.wrong());
  CHECK(other.difference != "");
  const Agreement none = compared(
      "graph\n input x: float64[3]\n a = sub(x, x)\n b = div(x, a)\n c = add(b, x)\n d = add(x, b)\n output c, d\n");
  CHECK(none.real == Agreement::Kind::no_number);
  CHECK(!none.wrong());
  const Agreement neither =
      compared("graph\n input x: float64[3]\n a = sub(x, x)\n b = div(x, a)\n c = sub(b, x)\n output c, a\n");
  CHECK(neither.wrong());
}

TEST_CASE("a real-number operator before one output does not excuse another output") {
  // Too small a difference for floating point.
  const Graph graph = parse_graph(
      "graph\n input x: float64[3]\n constant c: float64[1] = [0.000000000001]\n a = relu(x)\n b = mul(x, c)\n"
      " d = add(x, b)\n output a, d, x\n");
  Graph before = graph, after = graph;
  before.outputs = {graph.outputs[0], graph.outputs[1]};
  after.outputs = {graph.outputs[0], graph.outputs[2]};
  const Agreement agreement = compare(before, after, 1);
  CHECK(agreement.real == Agreement::Kind::agrees);
  CHECK(agreement.differs_exactly);
  CHECK(agreement.wrong());
}

TEST_CASE("graphs are reduced to the relevant part") {
  const Graph graph = parse_graph(
      "graph\n"
      "  input sizes: float64[N, T]\n"
      "  input x: float64[4, N, 5]\n"
      "  input w: float64[6, 6, 3]\n"
      "  t0 = relu(x)\n"
      "  t1, t2 = split[axis=0, at=2](t0)\n"
      "  t3 = tanh(t1)\n"
      "  t4 = transpose[permutation=[1, 0, 2]](t3)\n"
      "  t5 = exp(t4)\n"
      "  t6 = sigmoid(w)\n"
      "  output t2, t5, t6, t0\n");
  SECTION("one operator") {
    const Graph small = reduce(graph, [](const Graph& g) { return has(g, "tanh"); });
    CHECK(ops::text_of(small).find("tanh") != std::string::npos);
    CHECK(operators_in(small) == 1);
    CHECK(small.inputs.size() == 1);
    CHECK(extents_of(small.inputs[0].shape()) == Extents{1, 1, 1});
  }
  SECTION("two far from each other") {
    const Graph small = reduce(graph, [](const Graph& g) { return has(g, "relu") && has(g, "exp"); });
    CHECK(operators_in(small) == 2);
  }
  SECTION("an unknown dimension stays if it matters") {
    const Graph small = reduce(graph, [](const Graph& g) {
      for (const ops::Node* node : g.nodes())
        if (node->as_operator() != nullptr && !is_static(node->output().shape())) return true;
      return false;
    });
    CHECK(operators_in(small) == 1);
    CHECK(ops::text_of(small).find("[1, N, 1]") != std::string::npos);
  }
  SECTION("within the limit of tries") {
    std::size_t tries = 0;
    reduce(
        graph, [&](const Graph&) { return ++tries < 5; }, 20);
    CHECK(tries <= 20);
  }
}

TEST_CASE("rules are reduced to the relevant ones") {
  const auto rules = shipped_rules();
  const std::size_t late = rules.size() * 9 / 10;
  REQUIRE(late > 17);
  std::size_t asked = 0;
  const auto left = reduce(rules, [&](const std::vector<rules::Rule>& fewer) {
    ++asked;
    const auto there = [&](std::size_t i) {
      return std::any_of(fewer.begin(), fewer.end(),
                         [&](const rules::Rule& rule) { return rule.name == rules[i].name; });
    };
    return there(17) && there(late);
  });
  REQUIRE(left.size() == 2);
  CHECK(left[0].name == rules[17].name);
  CHECK(left[1].name == rules[late].name);
  CHECK(asked < 200);
}

TEST_CASE("random graphs compute the same after thousands of walks and searches by all rules", "[.][full]") {
  Campaign campaign(shipped_rules(), wandering(20));
  for (std::uint64_t seed = 100; seed < 110; ++seed)
    for (std::size_t rule = 0; rule < campaign.rules(); ++rule) REQUIRE(campaign.force(rule, seed) == "");
  walk(campaign, 10'000, 3000);
  search(campaign, 20'000, 3000);
  WARN(campaign.summary());
}

TEST_CASE("random graphs compute the same after thousands of searches by sound rules", "[.][full]") {
  CampaignOptions options = wandering(40);
  Campaign campaign(sound_rules(), options);
  search(campaign, 1000, 2000);
}

TEST_CASE("random graphs compute the same after searches by properties, in both directions", "[.][full]") {
  Campaign campaign(rules_of_file(source_folder() / "rules/properties.rules"), wandering(20));
  for (std::size_t rule = 0; rule < campaign.rules(); ++rule) REQUIRE(campaign.force(rule, 1) == "");
  walk(campaign, 1, 1000);
  search(campaign, 1, 1000);
}

}  // namespace taso::test
