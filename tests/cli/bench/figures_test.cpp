#include "cli/bench/figures.h"

#include <limits>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

/// Runs that vary by a thousandth.
std::vector<double> around(double middle) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) times.push_back(middle * (1 + 0.001 * (i % 11 - 5) / 5));
  return times;
}

BenchReport checked(std::optional<cli::Agreement> check) {
  BenchReport report;
  BenchFigures& one = report.models.emplace_back();
  one.model = "model.onnx";
  one.microseconds = {100};
  one.check = check;
  return report;
}

}  // namespace

TEST_CASE("a difference below the effect of memory placement is not a difference, however little it varies",
          "[figures]") {
  const Ratio same = ratio_of(around(100), around(99.2));
  CHECK(same.low > 1);
  CHECK_FALSE(same.is_faster());
  CHECK_FALSE(ratio_of(around(99.2), around(100)).is_slower());
  CHECK(ratio_of(around(100), around(98)).is_faster());
  CHECK(ratio_of(around(98), around(100)).is_slower());
}

TEST_CASE("the error of outputs is shown with the error by rounding alone, where that was needed", "[figures]") {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<std::tuple<std::optional<cli::Agreement>, std::string, std::string>> cases{
      {std::nullopt, "not checked", "null"},
      {cli::Agreement{true, 1e-3, {}}, "yes (1.0e-03)", R"({"agrees":true,"relative_error":0.001})"},
      {cli::Agreement{true, 0.055, 0.1}, "yes (5.5e-02, rounding alone 1.0e-01)",
       R"({"agrees":true,"relative_error":0.055,"rounding_error":0.1})"},
      {cli::Agreement{false, 0.5, 0.01}, "NO (5.0e-01, rounding alone 1.0e-02)",
       R"({"agrees":false,"relative_error":0.5,"rounding_error":0.01})"},
      {cli::Agreement{false, infinite, infinite}, "NO (inf, rounding alone inf)",
       R"({"agrees":false,"relative_error":null,"rounding_error":null})"}};
  for (const auto& [check, text, json] : cases) {
    CHECK_THAT(table_of(checked(check)), Catch::Contains(text + "\n"));
    const auto model = nlohmann::ordered_json::parse(json_of(checked(check)))["models"][0];
    CHECK(model.value("check", nlohmann::ordered_json()).dump() == json);
  }
}

TEST_CASE("low rates are not rounded to 0 or 1", "[figures]") {
  const std::vector<std::pair<double, std::string>> cases{{0.0123456, "0.0123"}, {0.52, "0.520"}, {4.9, "4.90"},
                                                          {9.994, "9.99"},       {9.996, "10"},   {12.4, "12"},
                                                          {5321.4, "5321"}};
  for (const auto& [a_second, text] : cases) {
    BenchReport report = checked(std::nullopt);
    report.models.front().microseconds = {1e6 / a_second};
    CHECK_THAT(table_of(report), Catch::Contains(" " + text + " "));
  }
}

}  // namespace taso::test
