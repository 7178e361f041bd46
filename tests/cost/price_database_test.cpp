#include "cost/pricing/price_database.h"

#include "cost/plan/plan.h"
#include "cost/pricing/recorded_prices.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/cost/random_plan_graph.h"

namespace taso::test {

using namespace cost;

namespace {

std::string refusal(std::string_view text) {
  try {
    PriceDatabase::parse(text, "p");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("prices are written as they are read, sorted by machine and call") {
  const std::string text =
      "taso prices 1\n# a remark\nmachine B\n2.0\t0.5?\tone\tcall b\n1.0\t0.0\ttwo: engine 3\tcall a\nmachine A\n"
      "7.5\t1.0\t\tcall a\n";
  const PriceDatabase database = PriceDatabase::parse(text, "p");
  CHECK(database.text() ==
        "taso prices 4\nmachine A\n7.5\t1.0\t\tcall a\nmachine B\n1.0\t0.0\ttwo: engine 3\tcall a\n"
        "2.0\t0.5?\tone\tcall b\n");
  CHECK(PriceDatabase::parse(database.text(), "p").text() == database.text());
  REQUIRE(database.find("B", "call b") != nullptr);
  CHECK(*database.find("B", "call b") == RecordedPrice{2, 0.005, false, "one"});
  CHECK(database.find("B", "call c") == nullptr);
  CHECK(database.find("C", "call a") == nullptr);
}

TEST_CASE("what ends a line is no part of a call") {
  const auto parsed = [](const std::string& text) { return PriceDatabase::parse(text, "here"); };
  const PriceDatabase prices = parsed("taso prices 4\r\nmachine one\r\r\n7.0\t0.0\town\tcall\r\r\n");
  CHECK(prices.text() == "taso prices 4\nmachine one\n7.0\t0.0\town\tcall\n");
  CHECK(parsed(prices.text()).text() == prices.text());
}

TEST_CASE("a price may have a second figure with weights from the cache") {
  const std::string text = "taso prices 4\nmachine M\n1.0/0.5\t0.0\tone\tcall a\n2.0\t0.0\ttwo\tcall b\n";
  const PriceDatabase database = PriceDatabase::parse(text, "p");
  CHECK(database.text() == text);
  CHECK(cost_of(*database.find("M", "call a")) == 1000);
  CHECK(cost_of(*database.find("M", "call a"), true) == 500);
  CHECK(cost_of(*database.find("M", "call b"), true) == 2000);
}

TEST_CASE("last figures that are written as 0 are left out, like those that were not measured") {
  const std::string text = "taso prices 4\nmachine M\n1.0/0.5/2.0/.01\t0.0\tone\tcall a\n2.0/.04/0\t0.0\ttwo\tcall b\n";
  const std::string written = "taso prices 4\nmachine M\n1.0/0.5/2.0\t0.0\tone\tcall a\n2.0\t0.0\ttwo\tcall b\n";
  CHECK(PriceDatabase::parse(text, "p").text() == written);
  CHECK(PriceDatabase::parse(written, "p").text() == written);
}

TEST_CASE("a kernel costs its time after itself, plus a part of its code fetch after others") {
  const std::string text =
      "taso prices 4\nmachine M\n1.0/0.5/0.7/3.0\t0.0\tone\tcall a\n1.0/0.5/0.9/0.2\t0.0\ttwo\tcall b\n";
  const PriceDatabase database = PriceDatabase::parse(text, "p");
  CHECK(database.text() == text);
  const RecordedPrice &a = *database.find("M", "call a"), &b = *database.find("M", "call b");
  CHECK(a == RecordedPrice{1, 0, true, "one", 0.5, 0.7, 3});
  CHECK(a.is_complete());
  CHECK(cost_again(a) == 700);
  CHECK(cost_again(a, true) == 500);
  CHECK(cost_of(a) > cost_again(a));
  CHECK(cost_of(a) - cost_again(a) == cost_of(a, true) - cost_again(a, true));
  // Cached code never makes a kernel slower.
  CHECK(cost_of(b) == cost_again(b));
  CHECK(cost_of(b, true) == cost_again(b, true));
}

TEST_CASE("little code costs almost nothing, much code most of its fetch time") {
  const auto noticed = [](double code) {
    const RecordedPrice price{5000, 0, true, "one", 4000, 4000, 5000 + code};
    return static_cast<double>(cost_of(price) - cost_again(price)) * 1e-3;
  };
  for (const double code : {200.0, 700.0, 1500.0}) CHECK(noticed(code) < 0.1 * code);
  CHECK(noticed(2500) - noticed(1500) > 700);
  CHECK(noticed(6500) > 0.6 * 6500);
  CHECK(noticed(6500) < 6500);
}

TEST_CASE("older files have weights from the cache after a writer only") {
  const auto found = [](const char* text) { return *PriceDatabase::parse(std::string(text), "p").find("M", "call"); };
  // Half of the saving remains after itself; if that was not measured, the known figure counts.
  CHECK(found("taso prices 3\nmachine M\n1.0/0.8/0.7/3.0\t0.0\tone\tcall\n").warm_nanoseconds == Approx(0.6));
  CHECK(found("taso prices 3\nmachine M\n1.0/1.2/0.7/3.0\t0.0\tone\tcall\n").warm_nanoseconds == Approx(0.7));
  CHECK(found("taso prices 2\nmachine M\n1.0/0.8\t0.0\tone\tcall\n").warm_nanoseconds == Approx(0.8));
  CHECK_FALSE(found("taso prices 2\nmachine M\n1.0/0.8\t0.0\tone\tcall\n").is_complete());
  CHECK(found("taso prices 4\nmachine M\n1.0/0.8/0.7/3.0\t0.0\tone\tcall\n").warm_nanoseconds == Approx(0.8));
}

TEST_CASE("merging prefers the prices of the second database") {
  PriceDatabase first, second;
  first.set("M", "a", {1, 0, true, ""});
  first.set("M", "b", {2, 0, true, ""});
  second.set("M", "b", {3, 0, true, ""});
  second.set("N", "b", {4, 0, true, ""});
  first.merge(second);
  CHECK(first.find("M", "a")->nanoseconds == 1);
  CHECK(first.find("M", "b")->nanoseconds == 3);
  CHECK(first.find("N", "b")->nanoseconds == 4);
}

TEST_CASE("a price with fewer figures does not replace a complete one") {
  PriceDatabase whole, part;
  whole.set("M", "a", {5, 0, true, "way", 5, 5, 5});
  part.set("M", "a", {9, 0, true, "way"});
  PriceDatabase merged = whole;
  merged.merge(part);
  CHECK(merged.find("M", "a")->nanoseconds == 5);
  part.merge(whole);
  CHECK(part.find("M", "a")->nanoseconds == 5);
}

TEST_CASE("a malformed price file is refused, with the line") {
  CHECK(refusal("") == "p:0: the file is empty");
  CHECK(refusal("prices\n") == "p:1: a file of prices begins with 'taso prices 4'");
  for (const char* line : {"taso prices", "taso prices ", "taso prices 0", "taso prices -1", "taso prices 4.5",
                           "taso prices 4 ", "taso prices 99999999999999"})
    CHECK(refusal(std::string(line) + "\n") == "p:1: a file of prices begins with 'taso prices 4'");
  CHECK(refusal("taso prices 5\nmachine M\nanything\n") ==
        "p:1: a newer taso has written this file: it has version 5, and versions 1 to 4 are read here");
  CHECK(refusal("taso prices 1\n1.0\t1.0\tx\ty\n") == "p:2: a price appears before any 'machine' line");
  CHECK(refusal("taso prices 1\nmachine M\n1.0\t1.0\ty\n") ==
        "p:3: a price is nanoseconds, spread, choice and call, with tabs between");
  CHECK(refusal("taso prices 2\nmachine M\n1.0\t1.0\tx\tconvolu") ==
        "p:3: the file breaks off in the middle of this line");
  for (const char* line :
       {"1/\t1.0\tx\ty", "1/1/1/1/1\t1.0\tx\ty", "1/1/1/1/\t1.0\tx\ty", "1/-1\t1.0\tx\ty", "1/1e30\t1.0\tx\ty",
        "x\t1.0\tx\ty", "-1\t1.0\tx\ty", "nan\t1.0\tx\ty", "1e30\t1.0\tx\ty", "1\t\tx\ty"})
    CHECK(refusal(std::string("taso prices 1\nmachine M\n") + line + "\n") ==
          "p:3: nanoseconds and spread are numbers from 0 on");
}

TEST_CASE("measured prices count, and the roofline for all other kernels") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const Graph graph = random_plan_graph(random, 1, 12);
    const WholeGraph view(graph);
    const Plan by_roofline = plan(view, Roofline());
    auto database = std::make_shared<PriceDatabase>();
    Cost expected = 0, cautiously = 0;
    for (const Plan::Step& step : by_roofline.steps) {
      const std::string text = cost::text_of(call_of(view, step.kernel, Precision::tf32).call);
      if (database->find("M", text) == nullptr && random.chance(0.5)) database->set("M", text, {12345.5, 0, true, ""});
    }
    for (const Plan::Step& step : by_roofline.steps) {
      const bool is_measured =
          database->find("M", cost::text_of(call_of(view, step.kernel, Precision::tf32).call)) != nullptr;
      expected += is_measured ? 12'345'500 : step.price;
      cautiously += is_measured ? 12'345'500 : 2 * step.price;
    }
    CHECK(plan(view, RecordedPrices(database, "M", Precision::tf32)).cost == expected);
    CHECK(plan(view, RecordedPrices(database, "another", Precision::tf32)).cost == by_roofline.cost);

    RecordedPrices cautious(database, "M", Precision::tf32);
    cautious.set_caution(2);
    CHECK(plan(view, cautious).cost == cautiously);
    for (const Plan::Step& step : by_roofline.steps) cautious.trust(view, step.kernel);
    CHECK(plan(view, cautious).cost == expected);

    RecordedPrices learning(database, "another", Precision::tf32);
    CHECK(plan(view, learning).cost == by_roofline.cost);
    for (const Plan::Step& step : by_roofline.steps)
      learning.learn(call_of(view, step.kernel, Precision::tf32).call, 1000);
    CHECK(plan(view, learning).cost == static_cast<Cost>(by_roofline.steps.size()) * 1000);
    for (const Plan::Step& step : by_roofline.steps)
      learning.learn(call_of(view, step.kernel, Precision::tf32).call, RecordedPrice{3, 0, true, "", 2});
    CHECK(plan(view, learning).cost == static_cast<Cost>(by_roofline.steps.size()) * 3000);
    learning.set_warm(true);
    CHECK(plan(view, learning).cost == static_cast<Cost>(by_roofline.steps.size()) * 2000);
  }
}

}  // namespace taso::test
