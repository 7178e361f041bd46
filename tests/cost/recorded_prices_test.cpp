// What kernels cost by what was recorded, the first time and again.
#include "cost/recorded_prices.h"

#include <fmt/format.h>

#include "cost/plan.h"
#include "ops/graph_text.h"
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

TEST_CASE("a product with one number has the price of the same product, told otherwise") {
  const auto text = [](std::string_view op, bool is_weight) {
    const Graph graph = parse_graph(
        fmt::format("graph\n  {} x: float32[8, 16]\n  {} s: float32[]\n  y = {}(x, s)\n  output y\n",
                    is_weight ? "constant" : "input", is_weight ? "input" : "constant", op));
    const WholeGraph view(graph);
    return text_of(call_of(view, plan(view, Roofline()).steps.at(0).kernel, Precision::tf32).call);
  };
  for (const bool is_weight : {false, true}) CHECK(text("scalar_mul", is_weight) == text("mul", is_weight));
}

TEST_CASE("a product takes no longer than one with some rows more that was measured") {
  const auto graph = [](int rows) {
    return parse_graph(
        fmt::format("graph\n  input x: float32[{}, 512]\n  constant w: float32[512, 4096]\n"
                    "  y = matmul(x, w)\n  output y\n",
                    rows));
  };
  const auto cost_of_rows = [&](int rows, const RecordedPrices& prices) { return plan(graph(rows), prices).cost; };
  const Graph measured = graph(5);
  const WholeGraph view(measured);
  const auto database = std::make_shared<PriceDatabase>();
  const RecordedPrice price{900, 0, true, "", 400, 500, 900};  // far less than the roofline says
  database->set("M", text_of(call_of(view, plan(view, Roofline()).steps[0].kernel, Precision::tf32).call), price);
  RecordedPrices prices(database, "M", Precision::tf32);
  prices.set_caution(1.5);
  const RecordedPrices nothing(std::make_shared<PriceDatabase>(), "M", Precision::tf32);
  for (const int rows : {2, 3, 4, 5}) CHECK(cost_of_rows(rows, prices) == cost_of(price));
  for (const int rows : {1, 6, 16}) CHECK(cost_of_rows(rows, prices) > cost_of_rows(rows, nothing));
  prices.set_warm(true);
  CHECK(cost_of_rows(4, prices) == cost_of(price, true));
}
