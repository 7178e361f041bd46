#include "cli/bench/figures.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cli;

namespace {

using Json = nlohmann::ordered_json;

/// The fields of `value` that `schema` says nothing of, and those that it requires and that are missing.
void compare_fields(const Json& value, Json schema, const Json& root, std::vector<std::string>& different) {
  if (schema.contains("$ref")) schema = root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
  for (const auto& one : schema.value("required", Json::array()))
    if (!value.contains(one.get<std::string>())) different.push_back("missing: " + one.get<std::string>());
  if (value.is_array())
    for (const Json& one : value) compare_fields(one, schema.at("items"), root, different);
  if (!value.is_object()) return;
  for (const auto& [name, part] : value.items()) {
    const Json& properties = schema.at("properties");
    if (!properties.contains(name))
      different.push_back("not described: " + name);
    else
      compare_fields(part, properties.at(name), root, different);
  }
}

/// Everything that a run on a GPU can tell.
BenchReport with_all_fields() {
  BenchReport report;
  report.device = "a GPU";
  report.versions = "its libraries";
  report.precision = cost::Precision::tf32;
  for (const char* name : {"first.onnx", "second.onnx"}) {
    BenchFigures& one = report.models.emplace_back();
    one.model = name;
    one.microseconds = {100, 101};
    one.predicted = 99;
    one.predicted_alone = 110;
    one.lanes = {.lanes = 2, .time = 99, .alone = 109, .others = "1: 109"};
    one.layout = "channels last";
    one.on_host = {"NonZero"};
    one.check = cli::Agreement{false, 0.5, 0.01};
    one.range = "y";
    one.profile = {{"conv", "engine 3", 10, 11}};
  }
  return report;
}

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

TEST_CASE("the schema of the figures describes all fields", "[figures]") {
  std::ifstream file(source_folder() / "cli/schemas/bench-report.schema.json");
  const Json schema = Json::parse(file);
  std::vector<std::string> different;
  compare_fields(Json::parse(json_of(with_all_fields())), schema, schema, different);
  CHECK(different == std::vector<std::string>{});
  compare_fields(Json::parse(R"({"models":[{"odd":1}]})"), schema, schema, different);
  CHECK(std::count(different.begin(), different.end(), "not described: odd") == 1);
  CHECK(std::count(different.begin(), different.end(), "missing: kernels") == 1);
}

TEST_CASE("low rates are not rounded to 0 or 1", "[figures]") {
  const std::vector<std::pair<double, std::string>> cases{{0.0123456, "0.0123"}, {0.52, "0.520"}, {4.9, "4.90"},
                                                          {9.994, "9.99"},       {9.996, "10"},   {12.4, "12"},
                                                          {5321.4, "5,321"}};
  for (const auto& [a_second, text] : cases) {
    BenchReport report = checked(std::nullopt);
    report.models.front().microseconds = {1e6 / a_second};
    CHECK_THAT(table_of(report), Catch::Contains(" " + text + " "));
  }
}

}  // namespace taso::test
