// The cost of kernels from recorded prices, the first time and again.
#include "cost/pricing/recorded_prices.h"

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "ops/core/random.h"
#include "ops/text/graph_text.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"

namespace taso::test {

using namespace cost;

TEST_CASE("a plan has the price of each kernel, and its price after itself") {
  std::size_t recorded = 0, predicted = 0;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1, 12);
    const WholeGraph view(graph);
    const auto database = std::make_shared<PriceDatabase>();
    const auto text = [&](const Plan::Step& step) {
      return cost::text_of(call_of(view, step.kernel, Precision::tf32).call);
    };
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

TEST_CASE("prices lie between those of weights within and outside the cache") {
  const Graph graph =
      parse_graph("graph\n  input x: float32[8, 16]\n  constant w: float32[16, 32]\n  y = matmul(x, w)\n  output y\n");
  const WholeGraph view(graph);
  const Kernel kernel = plan(view, Roofline()).steps.at(0).kernel;
  const auto database = std::make_shared<PriceDatabase>();
  database->set("M", cost::text_of(call_of(view, kernel, Precision::tf32).call), {900, 0, true, "", 400, 500, 900});
  RecordedPrices prices(database, "M", Precision::tf32);
  const auto at = [&](double share) {
    prices.set_cold_share(share);
    CHECK(prices.least(view, kernel) <= prices.price(view, kernel));
    return prices.price_twice(view, kernel);
  };
  const PriceTwice warm = at(0), some = at(0.25), cold = at(1);
  CHECK(warm.first < cold.first);
  CHECK(warm.again < cold.again);
  CHECK(some.first == warm.first + (cold.first - warm.first) / 4);
  CHECK(some.again == warm.again + (cold.again - warm.again) / 4);
  prices.set_cold_share(0.25);
  CHECK_FALSE(prices.is_warm());
  prices.set_warm(true);
  CHECK(prices.is_warm());
  CHECK(prices.price(view, kernel) == warm.first);
}

TEST_CASE("scalar_mul and mul by one number have the same price") {
  const auto text = [](std::string_view op, bool is_weight) {
    const Graph graph =
        parse_graph(fmt::format("graph\n  {} x: float32[8, 16]\n  {} s: float32[]\n  y = {}(x, s)\n  output y\n",
                                is_weight ? "constant" : "input", is_weight ? "input" : "constant", op));
    const WholeGraph view(graph);
    return cost::text_of(call_of(view, plan(view, Roofline()).steps.at(0).kernel, Precision::tf32).call);
  };
  for (const bool is_weight : {false, true}) CHECK(text("scalar_mul", is_weight) == text("mul", is_weight));
}

TEST_CASE("a product costs at most as much as a measured one with more rows or columns") {
  struct Product {
    int rows = 0, columns = 0, depth = 0;
    bool is_residual = false;
    Graph graph() const {
      return parse_graph(
          fmt::format("graph\n  input x: float32[{}, {}]\n  constant w: float32[{}, {}]\n  {}: float32[{}{}]\n"
                      "  p = matmul(x, w)\n  y = add(p, b)\n  output y\n",
                      rows, depth, depth, columns, is_residual ? "input b" : "constant b",
                      is_residual ? fmt::format("{}, ", rows) : "", columns));
    }
  };
  const RecordedPrice price{900, 0, true, "", 400, 500, 900};  // far less than the roofline predicts
  const auto knows = [&](const Product& measured) {
    const Graph graph = measured.graph();
    const WholeGraph view(graph);
    const auto database = std::make_shared<PriceDatabase>();
    database->set("M", cost::text_of(call_of(view, plan(view, Roofline()).steps.at(0).kernel, Precision::tf32).call),
                  price);
    return database;
  };
  const RecordedPrices nothing(std::make_shared<PriceDatabase>(), "M", Precision::tf32);
  const auto check = [&](const Product& measured, const std::vector<Product>& smaller,
                         const std::vector<Product>& others) {
    RecordedPrices prices(knows(measured), "M", Precision::tf32);
    prices.set_caution(1.5);
    for (const bool is_warm : {false, true}) {
      prices.set_warm(is_warm);
      for (const Product& one : smaller) {
        INFO(one.rows << " rows, " << one.columns << " columns");
        CHECK(plan(one.graph(), prices).cost == cost_of(price, is_warm));
      }
      for (const Product& one : others) {
        INFO(one.rows << " rows, " << one.columns << " columns");
        CHECK(plan(one.graph(), prices).cost > plan(one.graph(), nothing).cost);
      }
    }
  };
  for (const bool is_residual : {false, true}) {
    const auto product = [&](int rows, int columns, int depth = 512) {
      return Product{rows, columns, depth, is_residual};
    };
    check(product(5, 4096), {product(2, 4096), product(4, 4096), product(5, 4096)},
          {product(1, 4096), product(6, 4096), product(16, 4096), product(4, 2048), product(4, 4096, 256)});
    check(product(48, 1024), {product(16, 1024), product(32, 1024), product(20, 1024), product(3, 1024)},
          {product(64, 1024), product(47, 1000)});
    check(product(16, 3072), {product(16, 2048), product(16, 2560), product(16, 1024), product(16, 768)},
          {product(16, 4096), product(16, 512), product(16, 2056), product(16, 2048, 3072)});
    // Prices learned later count too, also for kernels priced before.
    const std::shared_ptr<PriceDatabase> database = std::make_shared<PriceDatabase>();
    RecordedPrices learning(database, "M", Precision::tf32);
    const Graph wide = product(16, 2048).graph(), narrow = product(16, 1024).graph();
    CHECK(plan(narrow, learning).cost == plan(narrow, nothing).cost);
    const WholeGraph view(wide);
    const Call call = call_of(view, plan(view, Roofline()).steps.at(0).kernel, Precision::tf32).call;
    database->set("M", cost::text_of(call), price);
    learning.learn(call, price);
    CHECK(plan(narrow, learning).cost == cost_of(price));
    // As deep as it is wide: only the width changes, not the depth.
    check(product(16, 1024, 512), {product(16, 512, 512)}, {product(16, 512, 1024)});
    check(product(64, 512, 16), {product(16, 512, 16)}, {product(16, 512, 64)});
  }
}

}  // namespace taso::test
