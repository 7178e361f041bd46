// The search as taso-opt runs it when kernels are measured: in rounds.
#include "cli/opt/search.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "cli/console/measuring.h"
#include "onnx/cleanup/cleanup.h"
#include "ops/support/sanitizer.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"
#include "tests/search/rule_graph.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cli;

namespace {

namespace fs = std::filesystem;

/// Much longer than predicted, so that unmeasured kernels always look promising.
constexpr double slow = 100'000;

struct Run {
  SearchSummary summary;
  double seconds = 0;                // of the processor, for the search: other processes do not count
  std::size_t at_once = 0, all = 0;  // kernels measured for the model, and in total
  std::size_t missing = 0;           // of the result
};

Run run(const OptSettings& options) {
  const fs::path prices = fs::temp_directory_path() / ("taso-rounds-" + std::to_string(::getpid()) + ".prices");
  Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  Console console(quiet);
  std::vector<std::string> measured;
  const onnx::Model model = onnx::Model::load(source_folder() / "examples/small_convnet.onnx");
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  Run result;
  {
    pricing::Pricing pricing({true, prices, cost::Precision::tf32, false}, std::make_unique<NoGpu>(measured, slow),
                             measuring_on(console));
    const Graph graph = onnx::import_model(edit.view()).graph;
    pricing.set_cache_residency(graph, {});
    pricing.measure_kernels(graph, {});
    result.at_once = measured.size();
    SearchRules rules;
    rules.rules = shipped_rules();
    const std::clock_t start = std::clock();
    result.summary = search_model(edit, rules, {}, options, pricing, console);
    result.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    result.all = measured.size();
    pricing::MissingCalls missing;
    pricing.find_missing(onnx::import_model(edit.view()).graph, {}, missing);
    result.missing = missing.size();
  }
  fs::remove(prices);
  return result;
}

}  // namespace

TEST_CASE("the search runs in rounds until the result is measured") {
  OptSettings options;
  options.jobs = 1;
  options.budget = 100;
  const Run one = run(options);
  CHECK(one.all > one.at_once);
  CHECK(one.missing == 0);
}

TEST_CASE("kernels that write nothing are not measured") {
  Console::Options quiet;
  quiet.program = "test";
  quiet.verbosity = -2;
  Console console(quiet);
  for (const int batch : {0, 2}) {
    const Graph graph = parse_graph(fmt::format(R"(graph
      input x: float32[{}, 32, 8, 8]
      constant w: float32[32, 1, 3, 3]
      c = conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=32](x, w)
      output c)",
                                                batch));
    std::vector<std::string> measured;
    const fs::path prices = fs::temp_directory_path() / fmt::format("taso-nothing-{}-{}.prices", ::getpid(), batch);
    pricing::Pricing pricing({true, prices, cost::Precision::tf32, false}, std::make_unique<NoGpu>(measured),
                             measuring_on(console));
    CHECK((pricing.measure_kernels(graph, {}) > 0) == (batch > 0));
    CHECK(measured.empty() == (batch == 0));
    fs::remove(prices);
  }
}

TEST_CASE("the time limit covers all rounds together") {
#if defined(TASO_ADDRESS_SANITIZER) || defined(TASO_THREAD_SANITIZER)
  constexpr double time = 8;  // what comes before and after a round is slow there
#else
  constexpr double time = 1;
#endif
  OptSettings options;
  options.jobs = 1;
  options.alpha = 1.5;
  options.budget = 1'000'000'000;  // each round uses all the time it gets
  options.time_budget = time;
  const Run one = run(options);
  REQUIRE(one.summary.end == "the time is up");
  REQUIRE(one.all > one.at_once);  // so that another round would have been useful
  CHECK(one.seconds < 1.8 * time);
}

}  // namespace taso::test
