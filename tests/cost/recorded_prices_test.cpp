// What kernels cost by what was recorded, the first time and again.
#include "cost/recorded_prices.h"

#include "cost/plan.h"
#include "ops/random.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"

using namespace taso;

TEST_CASE("a plan has what each kernel costs, and what it costs again") {
  std::size_t recorded = 0, predicted = 0;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1, 12);
    const WholeGraph view(graph);
    const auto database = std::make_shared<PriceDatabase>();
    const auto text = [&](const Plan::Step& step) { return text_of(call_of(view, step.kernel, Precision::tf32).call); };
    for (const Plan::Step& step : plan(view, Roofline()).steps)
      if (random.chance(0.5)) database->set("M", text(step), {9000, 0, true, "", 4000, 6000, 19'000});
    RecordedPrices prices(database, "M", Precision::tf32);
    for (const bool is_warm : {false, true}) {
      prices.set_warm(is_warm);
      for (const Plan::Step& step : plan(view, prices).steps) {
        const RecordedPrice* const found = database->find("M", text(step));
        (found != nullptr ? recorded : predicted) += 1;
        CHECK(step.price == prices.price(view, step.kernel));
        const bool is_conversion = step.kernel.nodes.empty();
        CHECK(step.price_again == (found && !is_conversion ? cost_again(*found, is_warm) : step.price));
        if (found && !is_conversion) CHECK(step.price_again < step.price);
      }
    }
  }
  CHECK(recorded > 50);
  CHECK(predicted > 50);
}
