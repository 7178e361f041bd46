// taso-opt with a fake GPU: measurements during a run must not make equal models look different.
#include "cli/opt/optimise.h"

#include "tests/catch.h"
#include "tests/cli/opt/no_gpu.h"
#include "tests/cli/opt/shared_inputs.h"

namespace taso::test {

using namespace cli;

namespace {

using test::Json;
using test::options_for;
using test::run;
using test::TemporaryFolder;

double seconds(const Json& report, const char* when) { return report[when]["predicted"]["seconds"]; }

void check_all_was_measured(const Json& report) {
  for (const char* when : {"before", "after"})
    CHECK(report[when]["predicted"]["measured_seconds"].get<double>() == Approx(seconds(report, when)));
}

}  // namespace

TEST_CASE("the first use of a GPU gives the same result as the second") {
  for (const double nanoseconds : {3'000.0, 12'000.0}) {
    const TemporaryFolder folder;
    const OptSettings options = options_for(folder);
    std::vector<std::string> measured;
    const Json first = run(options, std::make_unique<NoGpu>(measured, nanoseconds));
    CHECK(!measured.empty());
    const Json second = run(options, std::make_unique<NoGpu>(measured, nanoseconds));
    check_all_was_measured(first);
    CHECK(first["search"]["note"] == "");
    CHECK(!first["search"]["applied"].empty());
    CHECK(first["search"]["cost"] == second["search"]["cost"]);
    for (const char* when : {"before", "after"}) CHECK(seconds(first, when) == Approx(seconds(second, when)));
    CHECK(seconds(first, "after") < seconds(first, "before"));
  }
}

TEST_CASE("a result that is slower once it is measured is not written") {
  std::size_t changed = 0;
  for (const double time : {0.05, 0.1, 0.15, 60.0})
    for (const double factor : {2.0, 3.0, 4.0}) {
      const TemporaryFolder folder;
      OptSettings options = options_for(folder);
      options.time_budget = time;
      std::vector<std::string> measured;
      auto gpu = std::make_unique<NoGpu>(measured, 1'100);
      gpu->make_later_ones_dear(4, factor);
      const Json report = run(options, std::move(gpu));
      check_all_was_measured(report);
      CHECK(seconds(report, "after") <= seconds(report, "before"));
      CHECK(report["search"]["cost"]["after"].get<double>() <= report["search"]["cost"]["before"].get<double>());
      changed += !report["search"]["applied"].empty();
      // The predictions of another run for both models with these prices.
      OptSettings again = options;
      again.budget = 0;
      again.output = folder / "again.onnx";
      for (const char* when : {"before", "after"}) {
        again.input = when == std::string("before") ? options.input : options.output;
        CHECK(seconds(run(again, std::make_unique<NoGpu>(measured)), "before") == Approx(seconds(report, when)));
      }
    }
  CHECK(changed > 0);
}

TEST_CASE("the last choice also works with sequential kernels") {
  for (const std::uint32_t lanes : {1, 2}) {
    const TemporaryFolder folder;
    OptSettings options = options_for(folder);
    options.pricing.lanes = lanes;
    std::vector<std::string> measured;
    const Json report = run(options, std::make_unique<NoGpu>(measured));
    CHECK(report["search"]["tried_in_lanes"].get<std::size_t>() > 0);
    CHECK(report["search"]["cost_in_lanes"].is_null() == (lanes == 1));
  }
}

}  // namespace taso::test
