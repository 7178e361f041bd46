#include "cli/opt/summary.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

Summary sample() {
  Summary summary;
  summary.input = "in.onnx";
  summary.output = "out.onnx";
  summary.written = true;
  summary.before = {{{"Conv", 2}, {"Identity", 1200}}, 1234567, {}};
  summary.after = {{{"Conv", 2}}, 999, {}};
  summary.passes = {{"identity", 1200}, {"no-op", 0}};
  summary.check = onnx::CheckResult{true, onnx::CheckResult::Scope::whole, 1, 0.25, ""};
  summary.samples = 1;
  return summary;
}

TEST_CASE("the closing table counts operators and bytes") {
  CHECK(table_of(sample()) ==
        "operator   as read     result\n"
        "Conv             2          2\n"
        "Identity     1,200          0\n"
        "total        1,202          2\n"
        "file      1.18 MiB  999 bytes\n"
        "\n"
        "clean-ups: identity 1,200\n"
        "check: the whole model on 1 set of random inputs, 1 tensor compared, largest difference 25.00 % of the "
        "tolerance\n"
        "written: out.onnx");
}

TEST_CASE("of many kinds of operators, only those that changed are shown") {
  Summary summary = sample();
  for (char c = 'a'; c <= 'z'; ++c)
    summary.before.operators[std::string(1, c)] = summary.after.operators[std::string(1, c)] = 2;
  const std::string table = table_of(summary);
  CHECK_THAT(table, Catch::Contains("Identity") && Catch::Contains("27 others") && Catch::Contains("1,254"));
  CHECK_THAT(table, !Catch::Contains("Conv"));
}

TEST_CASE("the closing table shows what the search did") {
  Summary summary = sample();
  summary.search.emplace();
  summary.search->end = "the budget is spent";
  summary.search->rules = 20;
  summary.search->usable = 3;
  summary.search->expanded = 1000;
  summary.search->matched = 12345;
  summary.search->before = 1.5e-3;
  summary.search->after = 2.5e-5;
  summary.search->applied = {{"shared-input", 2, 1.5e-3}, {"cut-and-joined", 1, -2.5e-5}};
  CHECK_THAT(table_of(summary),
             Catch::Contains("search: 1,000 graphs expanded with 3 of 20 rules, 12,345 matches; the budget is spent\n"
                             "\n"
                             "rule            times      saved\n"
                             "shared-input        2   1.500 ms\n"
                             "cut-and-joined      1  -25.00 µs\n"
                             "all rules           3   1.475 ms\n"));
  summary.search->give_up("it rains");
  CHECK_THAT(table_of(summary), Catch::Contains("\nno faster graph kept: it rains\n"));
  CHECK(summary.search->after == summary.search->before);
  summary.passes.clear();
  CHECK(summary.verdict() == "no faster graph kept");
  summary.search->note.clear();
  CHECK(summary.verdict() == "no faster graph found");
  CHECK_THAT(table_of(summary), Catch::Contains("\nno faster graph found\n"));
  summary.search->objective = cost::Objective::launches;
  CHECK(summary.verdict() == "no better graph found");
}

TEST_CASE("the closing table shows the predicted costs of the models") {
  Summary summary = sample();
  CHECK_THAT(table_of(summary), !Catch::Contains("predicted") && !Catch::Contains("time:"));
  summary.before.figures = pricing::Figures{.layout = cost::Layout::channels_first,
                                            .seconds = 2.5e-3,
                                            .launches = 1234,
                                            .bytes_moved = 5e6,
                                            .peak_bytes = 4096};
  summary.after.figures = pricing::Figures{
      .layout = cost::Layout::channels_first, .seconds = 12e-6, .launches = 17, .bytes_moved = 1e6, .peak_bytes = 2048};
  summary.seconds = {{"load", 0.125}, {"check", 61}};
  const std::string table = table_of(summary);
  for (const char* row : {"kernels +1,234 +17", "bytes moved +4.77 MiB +977 KiB", "peak memory +4.00 KiB +2.00 KiB",
                          "predicted, sequential +2.500 ms +12.00 µs"})
    CHECK_THAT(table, Catch::Matches("[^]*" + std::string(row) + "[^]*"));
  CHECK_THAT(table, Catch::Contains("time: load 0.12 s, check 61.00 s\n"));
  CHECK_THAT(table, !Catch::Contains("concurrent"));  // because sizes are not known
  summary.before.figures->concurrent_seconds = 2e-3;
  summary.before.figures->lanes = 3;
  summary.after.figures->concurrent_seconds = 11e-6;
  for (const char* row : {"predicted, concurrent +2.000 ms +11.00 µs", "streams +3 +1"})
    CHECK_THAT(table_of(summary), Catch::Matches("[^]*" + std::string(row) + "[^]*"));
}

TEST_CASE("the closing table says which model its predictions begin with") {
  Summary summary = sample();
  summary.before.figures = summary.after.figures = pricing::Figures{.seconds = 1e-3};
  CHECK_THAT(table_of(summary), Catch::Contains("\n\na run, as predicted    cleaned up     result\n"));
  summary.passes.clear();
  CHECK_THAT(table_of(summary), Catch::Contains("\n\na run, as predicted     as read     result\n"));
}

TEST_CASE("savings add up to the difference of the predictions") {
  Summary summary = sample();
  summary.search.emplace();
  summary.search->applied = {{"shared-input", 2, 30e-6}, {"cut-and-joined", 1, -5e-6}};
  summary.before.figures = pricing::Figures{.seconds = 100e-6, .concurrent_seconds = 60e-6, .launches = 9};
  summary.after.figures = pricing::Figures{.seconds = 79e-6, .concurrent_seconds = 50e-6, .launches = 4};
  CHECK_THAT(table_of(summary), Catch::Contains("\n"
                                                "rule                      times      saved\n"
                                                "shared-input                  2   30.00 µs\n"
                                                "cut-and-joined                1   -5.00 µs\n"
                                                "all rules                     3   25.00 µs\n"
                                                "repeated kernels, copies          -4.00 µs\n"
                                                "predicted, sequential             21.00 µs\n"
                                                "streams                          -11.00 µs\n"
                                                "predicted, concurrent             10.00 µs\n"));
  summary.cleaned_nodes = 5;
  CHECK_THAT(table_of(summary),
             Catch::Contains("clean-ups: identity 1,200; 1,202 operators as read, 5 cleaned up, 2 in the result\n"));
  summary.search->objective = cost::Objective::launches;
  summary.search->applied = {{"shared-input", 2, 4}};
  CHECK_THAT(table_of(summary), Catch::Contains("shared-input        2  4 kernels\n"
                                                "the whole plan          1 kernel\n"
                                                "kernels                5 kernels\n"));
}

TEST_CASE("a gain that relies on unmeasured kernels gives a warning") {
  Summary summary = sample();
  summary.search.emplace();
  summary.search->applied = {{"shared-input", 1, 1e-5}};
  const auto tells = [&](double before, double measured_before, double after, double measured_after) {
    summary.before.figures = pricing::Figures{.seconds = before * 1e-6, .measured = measured_before * 1e-6};
    summary.after.figures = pricing::Figures{.seconds = after * 1e-6, .measured = measured_after * 1e-6};
    return table_of(summary).find("that was never measured") != std::string::npos;
  };
  CHECK(tells(100, 100, 60, 20));
  CHECK(tells(100, 95, 98, 90));
  CHECK_FALSE(tells(100, 100, 60, 50));  // if they took twice as long, a gain would remain
  CHECK_FALSE(tells(100, 95, 60, 55));   // they existed before
  CHECK_FALSE(tells(100, 0, 60, 0));     // nothing was measured, as another line says
  CHECK(tells(100, 100, 60, 20));
  CHECK_THAT(table_of(summary), Catch::Contains("the gain of 40.00 µs relies on 40.00 µs of kernel time"));
  SECTION("but not if it was confirmed") {
    summary.confirmed.emplace();
    CHECK_FALSE(tells(100, 100, 60, 20));
  }
  SECTION("nor if there is none") {
    summary.search->applied.clear();
    CHECK_FALSE(tells(100, 100, 60, 20));
  }
  SECTION("nor if the objective is not time") {
    summary.search->objective = cost::Objective::launches;
    CHECK_FALSE(tells(100, 100, 60, 20));
  }
}

TEST_CASE("the closing word summarises the result") {
  Summary summary = sample();
  CHECK(summary.verdict() == "PASSED");
  summary.check->passed = false;
  CHECK(summary.verdict() == "FAILED");
  summary.check.reset();
  CHECK(summary.verdict() == "UNCHECKED");
  summary.passes.clear();
  CHECK(summary.verdict() == "no clean-up applied");
}

TEST_CASE("the report is versioned JSON") {
  Summary summary = sample();
  summary.before.operators["\xff\xfe"] = 1;  // not UTF-8
  summary.seconds = {{"load", 0.5}};
  const auto report = nlohmann::json::parse(report_of(summary));
  CHECK(report["schema_version"] == 1);
  CHECK(report["verdict"] == "PASSED");
  CHECK(report["before"]["operators"]["Identity"] == 1200);
  CHECK(report["after"]["nodes"] == 2);
  CHECK(report["after"]["bytes"] == 999);
  CHECK(report["passes"]["identity"] == 1200);
  CHECK(report["passes"]["no-op"] == 0);
  CHECK(report["check"]["passed"] == true);
  CHECK(report["check"]["scope"] == "whole");
  CHECK(report["seconds"]["load"] == 0.5);
  summary.check.reset();
  summary.written = false;
  const auto other = nlohmann::json::parse(report_of(summary));
  CHECK(other["check"].is_null());
  CHECK(other["output"].is_null());
}

}  // namespace
}  // namespace taso::test
