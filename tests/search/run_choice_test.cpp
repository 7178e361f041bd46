// The result of a search is chosen by run time, if that is given.
#include <algorithm>
#include <map>

#include "cost/plan/plan.h"
#include "ops/core/error.h"
#include "ops/text/graph_text.h"
#include "runtime/gpu/execution.h"
#include "tests/catch.h"
#include "tests/search/campaign.h"
#include "tests/search/rule_graph.h"

namespace taso::test {

using namespace search;

namespace {

/// A convolution takes 10 µs, one with more than 64 channels 18 µs, and everything else nothing.
class TwoSizes : public cost::KernelPrices {
 public:
  cost::Cost price(const cost::GraphView&, const cost::Kernel& kernel) const override {
    if (kernel.kind != cost::Kernel::Kind::convolution) return 0;
    return kernel.columns > 64 ? 18'000'000 : 10'000'000;
  }
};

/// A chain of pairs of convolutions that share an input, each followed by one that joins them.
Graph pairs(std::size_t count) {
  std::string text = "graph\n  input x0: float32[1, 64, 14, 14]\n";
  const std::string conv = "conv[strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]]";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    for (const std::string side : {"a", "b"}) {
      text += "  constant w" + side + n + ": float32[64, 64, 1, 1]\n";
      text += "  " + side + n + " = " + conv + "(x" + n + ", w" + side + n + ")\n";
    }
    text += "  constant wc" + n + ": float32[64, 128, 1, 1]\n  c" + n + " = concat[axis=1](a" + n + ", b" + n + ")\n";
    text += "  x" + std::to_string(i + 1) + " = " + conv + "(c" + n + ", wc" + n + ")\n";
  }
  return parse_graph(text + "  output x" + std::to_string(count) + "\n");
}

std::size_t convolutions_in(const Graph& graph) {
  std::size_t count = 0;
  for (const ops::Node* node : graph.nodes())
    count += node->as_operator() != nullptr && std::holds_alternative<op::Conv>(*node->as_operator());
  return count;
}

std::vector<rules::Rule> merging() {
  std::vector<rules::Rule> rules = rules_of_file(source_folder() / "tests/search/golden.rules");
  std::erase_if(rules, [](const rules::Rule& rule) { return rule.name != "shared-input"; });
  REQUIRE(rules.size() == 1);
  return rules;
}

cost::Cost sum_of(const Graph& graph, cost::Layout layout, const cost::KernelPrices& prices) {
  return cost::plan(graph, prices, {{}, layout}).cost;
}

RunTime as_it_runs(const Graph& graph, cost::Layout layout, const cost::KernelPrices& prices) {
  const cost::WholeGraph view(graph, {}, layout);
  const gpu::Outlook outlook = gpu::look_ahead(view, graph, cost::plan(view, prices), cost::Precision::tf32);
  return {outlook.cost, outlook.sequential};
}

/// A run time with the concurrent part only.
RunTime only(cost::Cost in_lanes) { return {in_lanes, 0}; }

/// An element-wise operator costs by its name, whatever is fused with it.
class ByName : public cost::KernelPrices {
 public:
  explicit ByName(std::map<std::string, cost::Cost, std::less<>> prices) : prices_(std::move(prices)) {}
  cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
    cost::Cost sum = 0;
    for (const cost::PlanNode node : kernel.nodes) sum += prices_.at(std::string(ops::name_of(*view.op(node))));
    return sum;
  }

 private:
  std::map<std::string, cost::Cost, std::less<>> prices_;
};

bool mentions(const Graph& graph, const std::string& word) {
  return ops::text_of(graph).find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("the least sum is not chosen if it is slower concurrently") {
  const TwoSizes prices;
  const Graph graph = pairs(3);
  SearchOptions options;
  const SearchResult merged = search::search(graph, merging(), prices, options);
  REQUIRE(convolutions_in(merged.graph) == 6);
  REQUIRE(merged.cost_after < merged.cost_before);
  REQUIRE(as_it_runs(merged.graph, merged.layout, prices).concurrent >
          as_it_runs(graph, merged.layout, prices).concurrent);
  options.time_of_run = [&](const Graph& one, cost::Layout layout) { return as_it_runs(one, layout, prices); };
  const SearchResult chosen = search::search(graph, merging(), prices, options);
  CHECK(chosen.steps.empty());
  CHECK(convolutions_in(chosen.graph) == 9);
  CHECK(chosen.cost_after == chosen.cost_before);
  CHECK(chosen.run_after == chosen.run_before);
  CHECK(chosen.run_before == as_it_runs(graph, chosen.layout, prices));
  CHECK(chosen.counts.tried > 0);
}

TEST_CASE("steps are left out one by one") {
  const TwoSizes prices;
  // Merging does not pay in the second pair.
  const auto time = [&](const Graph& one, cost::Layout layout) {
    const bool is_merged = ops::text_of(one).find("concat[axis=0](wa1") != std::string::npos;
    return only(sum_of(one, layout, prices) + (is_merged ? 8'000'000 : 0));
  };
  SearchOptions options;
  for (const std::size_t piece : {0, 2}) {
    options.piece = piece;
    options.time_of_run = time;
    const SearchResult chosen = search::search(pairs(3), merging(), prices, options);
    CHECK(chosen.steps.size() == 2);
    CHECK(convolutions_in(chosen.graph) == 7);
    CHECK(chosen.run_after == time(chosen.graph, chosen.layout));
    CHECK(chosen.run_after.concurrent < chosen.run_before.concurrent);
    CHECK(chosen.cost_after == chosen.cost_before - 2 * (20'000'000 - 18'000'000));
  }
}

TEST_CASE("steps that pay only by run time are taken, unless they increase the original sum") {
  class Dear : public cost::KernelPrices {
   public:
    cost::Cost price(const cost::GraphView&, const cost::Kernel& kernel) const override {
      if (kernel.kind != cost::Kernel::Kind::convolution) return 0;
      return kernel.columns > 64 ? large : 10'000'000;
    }
    cost::Cost noise() const override { return 1'000; }
    cost::Cost large = 19'999'999;  // not worth it in sum
  } prices;
  SearchOptions options;
  options.time_of_run = [](const Graph& one, cost::Layout) {
    return only(static_cast<cost::Cost>(convolutions_in(one)) * 1'000'000);
  };
  const SearchResult merged = search::search(pairs(3), merging(), prices, options);
  CHECK(convolutions_in(merged.graph) == 6);
  CHECK(merged.run_after == only(6'000'000));
  CHECK(merged.cost_after == merged.cost_before - 3);
  prices.large = 20'000'001;
  const SearchResult kept = search::search(pairs(3), merging(), prices, options);
  CHECK(kept.steps.empty());
}

TEST_CASE("a graph with more operators must be noticeably faster") {
  class MoreIsLess : public cost::KernelPrices {
   public:
    cost::Cost price(const cost::GraphView&, const cost::Kernel& kernel) const override {
      return 10'000'000 - 1'000'000 * static_cast<cost::Cost>(std::min<std::size_t>(kernel.nodes.size(), 4));
    }
  };
  const Graph graph = parse_graph("graph\n  input x: float32[4, 4]\n  y = tanh(x)\n  output y\n");
  const std::vector<rules::Rule> rules{rules::parse_rule("rule two\n  tanh(x) => relu(sigmoid(x))\n")};
  const auto changes = [&](cost::Cost saved) {
    SearchOptions options;
    options.budget = 3;
    options.time_of_run = [&](const Graph& one, cost::Layout) {
      return only(1'000'000'000 - (one.nodes().size() > 2 ? saved : 0));
    };
    return !search::search(graph, rules, MoreIsLess(), options).steps.empty();
  };
  CHECK(changes(10'000'000));
  CHECK_FALSE(changes(9'999'999));
}

TEST_CASE("the choice is the same with any number of threads, and knows its limits", "[threads]") {
  const TwoSizes prices;
  SearchOptions options;
  options.time_of_run = [&](const Graph& one, cost::Layout layout) {
    return only(sum_of(one, layout, prices) +
                static_cast<cost::Cost>(std::hash<std::string>()(ops::text_of(one)) % 4'000'000));
  };
  std::vector<std::string> texts;
  for (const unsigned jobs : {1U, 2U, 5U}) {
    options.jobs = jobs;
    texts.push_back(ops::text_of(search::search(pairs(6), merging(), prices, options).graph));
  }
  CHECK(texts[0] == texts[1]);
  CHECK(texts[0] == texts[2]);
  // Even without time for anything else, it is not slower than before.
  options.time_budget = std::chrono::duration<double>(0);
  options.time_of_run = [](const Graph& one, cost::Layout) {
    return only(static_cast<cost::Cost>(20 - convolutions_in(one)));
  };
  CHECK(search::search(pairs(3), merging(), prices, options).steps.empty());
}

TEST_CASE("the gain from concurrency in a changed graph is discounted by a quarter and a hundredth") {
  const TwoSizes prices;
  const auto is_chosen = [&](const RunTime& before, const RunTime& after) {
    SearchOptions options;
    options.time_of_run = [&](const Graph& one, cost::Layout) { return convolutions_in(one) < 9 ? after : before; };
    return !search::search(pairs(3), merging(), prices, options).steps.empty();
  };
  constexpr cost::Cost unit = 1'000'000;
  const RunTime before{100 * unit, 200 * unit};
  CHECK_FALSE(is_chosen(before, {80 * unit, 190 * unit}));  // 80 + 110 / 4
  CHECK(is_chosen(before, {65 * unit, 190 * unit}));
  CHECK(is_chosen(before, {90 * unit, 125 * unit}));
  CHECK_FALSE(is_chosen(before, {90 * unit, 128 * unit}));  // 90 + 38 / 4 is less than 100, but not by a hundredth
  // If concurrency gains nothing or almost nothing, nothing is discounted.
  CHECK(is_chosen({100 * unit, 105 * unit}, {99 * unit - unit / 2, 99 * unit - unit / 4}));
  CHECK(is_chosen({100 * unit, 100 * unit}, {99 * unit, 99 * unit}));
}

TEST_CASE("the best concurrent graph is not chosen if it is slower sequentially") {
  const TwoSizes prices;
  const std::size_t all = 3;
  const auto merged_in = [](const Graph& one) { return 3 * all - convolutions_in(one); };
  SearchOptions options;
  // The more is merged, the faster concurrently; merging more than `most` pairs is slower sequentially.
  for (std::size_t most = 0; most <= all; ++most) {
    options.time_of_run = [&](const Graph& one, cost::Layout) {
      const auto merged = static_cast<cost::Cost>(merged_in(one)), too_many = merged - static_cast<cost::Cost>(most);
      return RunTime{100'000'000 - merged * 10'000'000,
                     120'000'000 - merged * 1'000'000 + std::max<cost::Cost>(too_many, 0) * 30'000'000};
    };
    const SearchResult chosen = search::search(pairs(all), merging(), prices, options);
    CHECK(merged_in(chosen.graph) == most);
    CHECK(chosen.run_after == options.time_of_run(chosen.graph, chosen.layout));
  }
  // A hundredth concurrently does not justify a sixth sequentially.
  options.time_of_run = [&](const Graph& one, cost::Layout) {
    constexpr RunTime times[] = {{200, 400}, {190, 380}, {168, 280}, {170, 235}};
    const RunTime time = times[merged_in(one)];
    return RunTime{time.concurrent * 1'000'000, time.sequential * 1'000'000};
  };
  CHECK(merged_in(search::search(pairs(all), merging(), prices, options).graph) == all);
}

TEST_CASE("if every step found is slower sequentially, other steps are taken") {
  const ByName prices({{"tanh", 10'000'000}, {"gelu", 10'000'000}, {"relu", 5'000'000}, {"sigmoid", 7'000'000}});
  const Graph graph = parse_graph(
      "graph\n  input x: float32[64, 64]\n  input y: float32[64, 64]\n  a = tanh(x)\n  b = gelu(y)\n  output a, b\n");
  const std::vector<rules::Rule> rules{rules::parse_rule("rule one\n  tanh(x) => relu(x)\n"),
                                       rules::parse_rule("rule two\n  gelu(x) => relu(x)\n"),
                                       rules::parse_rule("rule three\n  tanh(x) => sigmoid(x)\n")};
  SearchOptions options;
  REQUIRE(search::search(graph, rules, prices, options).cost_after == 10'000'000);
  options.time_of_run = [](const Graph& one, cost::Layout) {
    return RunTime{mentions(one, " tanh(") ? 20'000'000 : 15'000'000, mentions(one, "relu") ? 30'000'000 : 20'000'000};
  };
  const SearchResult chosen = search::search(graph, rules, prices, options);
  REQUIRE(chosen.steps.size() == 1);
  CHECK(chosen.steps[0].rule == "three");
  CHECK(chosen.run_after == RunTime{15'000'000, 20'000'000});
}

TEST_CASE("many steps that do not pay are left out at once") {
  const TwoSizes prices;
  constexpr std::size_t all = 30;
  // Merging pays in the last ten pairs alone.
  const auto time = [&](const Graph& one, cost::Layout) {
    const std::string text = ops::text_of(one);
    cost::Cost in_lanes = 1'000'000'000;
    for (std::size_t i = 0; i < all; ++i)
      if (text.find("concat[axis=0](wa" + std::to_string(i) + ",") != std::string::npos)
        in_lanes += i % 3 == 0 ? -20'000'000 : 5'000'000;
    return only(in_lanes);
  };
  SearchOptions options;
  options.time_of_run = time;
  const SearchResult chosen = search::search(pairs(all), merging(), prices, options);
  CHECK(chosen.run_after == only(1'000'000'000 - 10 * 20'000'000));
}

TEST_CASE("a reordering of the same kernels is not taken, whatever it gains") {
  const ByName prices({{"tanh", 10'000'000}, {"relu", 4'000'000}, {"sigmoid", 6'000'000}});
  const Graph graph = parse_graph("graph\n  input x: float32[4, 4]\n  y = tanh(x)\n  output y\n");
  SearchOptions options;
  options.time_of_run = [](const Graph& one, cost::Layout) {
    return only(mentions(one, "tanh") ? 20'000'000 : 10'000'000);
  };
  const std::vector<rules::Rule> longer{rules::parse_rule("rule two\n  tanh(x) => relu(sigmoid(x))\n")};
  CHECK(search::search(graph, longer, prices, options).steps.empty());
}

TEST_CASE("the choice ends at once, and counts the graphs that it timed") {
  const TwoSizes prices;
  std::size_t asked = 0, watched = 0;
  // Two graphs are timed before the choice begins: the input and the current one.
  const auto stopped_when = [&](const std::function<bool()>& is_time) {
    asked = watched = 0;
    std::stop_source stop;
    const auto look = [&] {
      if (is_time()) stop.request_stop();
    };
    SearchOptions options;
    options.time_of_run = [&](const Graph& one, cost::Layout layout) {
      ++asked;
      look();
      return only(sum_of(one, layout, prices));
    };
    return search::search(pairs(6), merging(), prices, options, stop.get_token(), [&](const SearchProgress&) {
      if (asked >= 2) ++watched;
      look();
    });
  };
  const SearchResult all = stopped_when([] { return false; });
  REQUIRE(all.counts.tried > 6);
  CHECK(all.counts.tried == asked - 2);
  for (const std::size_t last : {3, 5}) {
    CHECK(stopped_when([&] { return asked == last; }).counts.tried == last - 2);
    CHECK(asked == last);
  }
  // While graphs to be timed are made.
  const SearchResult none = stopped_when([&] { return watched == 5; });
  CHECK(asked == 2);
  CHECK(none.counts.tried == 0);
  CHECK(none.cost_after == all.cost_after);
}

TEST_CASE("a result can be priced again") {
  class Dearer : public TwoSizes {
   public:
    cost::Cost price(const cost::GraphView& view, const cost::Kernel& kernel) const override {
      return kernel.columns > 64 ? 3 * TwoSizes::price(view, kernel) : TwoSizes::price(view, kernel);
    }
  } dearer;
  const TwoSizes prices;
  const Graph graph = pairs(4);
  SearchOptions options;
  options.keeps_way = true;
  options.time_of_run = [&](const Graph& one, cost::Layout layout) { return only(sum_of(one, layout, prices)); };
  const SearchResult found = search::search(graph, merging(), prices, options);
  REQUIRE(found.steps.size() == 4);
  SearchResult again = found;
  reprice(again, graph, prices, options);
  CHECK(again.steps == found.steps);
  CHECK(again.run_before == found.run_before);
  CHECK(again.run_after == found.run_after);
  options.time_of_run = [&](const Graph& one, cost::Layout layout) { return only(sum_of(one, layout, dearer)); };
  reprice(again, graph, dearer, options);
  CHECK(again.cost_before == found.cost_before);
  CHECK(again.cost_after == again.cost_before + 4 * (54'000'000 - 20'000'000));
  CHECK(again.run_after == only(again.cost_after));
  for (std::size_t i = 0; i < again.steps.size(); ++i)
    CHECK(again.steps[i].cost_after == again.steps[i].cost_before + 34'000'000);
  CHECK(again.steps.front().cost_before == again.cost_before);
  CHECK(again.steps.back().cost_after == again.cost_after);
}

TEST_CASE("no random graph is slower afterwards, neither in sum nor concurrently") {
  const cost::Roofline prices;
  std::size_t in_several = 0;
  for (const bool is_simulated : {true, false}) {
    CampaignOptions options = wandering(30);
    options.search.piece = 3;
    options.makeup.parts = 8;
    options.search.time_of_run = [&](const Graph& graph, cost::Layout layout) {
      const cost::WholeGraph view(graph, {}, layout);
      const cost::Plan laid = cost::plan(view, prices);
      if (!is_simulated) {
        const auto any = static_cast<cost::Cost>(std::hash<std::string>()(ops::text_of(graph)) % 5'000'000);
        return RunTime{laid.cost / 2 + any, laid.cost + any / 3};
      }
      try {
        const gpu::Outlook outlook = gpu::look_ahead(view, graph, laid, cost::Precision::tf32);
        in_several += outlook.lanes > 1;
        return RunTime{outlook.cost, outlook.sequential};
      } catch (const InputError&) {  // an unknown size
        return RunTime{laid.cost, laid.cost};
      }
    };
    Campaign campaign(sound_rules(), options);
    for (std::uint64_t seed = 9000; seed < 9060; ++seed) REQUIRE(campaign.search(seed) == "");
    CHECK(campaign.tally().changed > campaign.tally().searches / 6);
  }
  CHECK(in_several > 20);
}

}  // namespace taso::test
