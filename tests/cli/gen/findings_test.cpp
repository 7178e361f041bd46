#include "cli/gen/findings.h"
#include "cli/gen/progress.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Interrupted while deciding candidates: of 10, 2 follow, 3 are proved, 1 is refuted.
Findings cut_short() {
  Findings findings;
  findings.enumerated = true;
  generator::GenerateReport& report = findings.report;
  report.complete = false;
  report.equalities = report.renamed = report.confirmed = report.not_following = report.without_common_subgraph = 12;
  report.distinct = report.general = 10;
  report.not_derived = 8;
  report.proved = 2;
  report.special = 1;
  report.refuted.resize(1);
  return findings;
}

TEST_CASE("a bound is rounded up") {
  CHECK(bound_text(1.3166e-11) == "2e-11");
  CHECK(bound_text(9.01e-10) == "1e-09");
  CHECK(bound_text(0.25) == "3e-01");
  CHECK(bound_text(1) == "1e+00");
  CHECK(bound_text(4.2e-101) == "5e-101");
  for (double bound = 1e-15; bound < 0.5; bound *= 1.37) CHECK(std::stod(bound_text(bound)) >= bound);
}

TEST_CASE("unprocessed candidates are undecided, not dropped") {
  Findings findings = cut_short();
  CHECK(findings.undecided() == 4);
  std::string table = table_of(findings);
  CHECK(contains(table, "decided before the end                     6  4 undecided\n"));
  CHECK(contains(table, "not derivable from smaller rules           4            2\n"));
  CHECK(contains(table, "proved                                     3            1\n"));
  CHECK_FALSE(contains(table, "fingerprints"));
  findings.enumerated = false;
  CHECK(contains(table_of(findings), "dropped or undecided"));
  findings = cut_short();
  findings.report.complete = true;
  findings.report.not_derived = 4;
  CHECK(findings.undecided() == 0);
  CHECK_FALSE(contains(table_of(findings), "undecided"));
}

TEST_CASE("laws that depend on an order are searched in smaller programs, and the table says so") {
  Findings findings = cut_short();
  findings.settings.max_operators = generator::most_operators_in_order + 1;
  findings.report.families.resize(2);
  CHECK_FALSE(contains(table_of(findings), "in order: "));
  findings.report.families[1].is_in_order = true;
  CHECK(contains(table_of(findings), "\nin order: with at most 3 operators\n"));
  CHECK(contains(report_of(findings), "\"max_operators_in_order\": 3"));
  findings.settings.max_operators = generator::most_operators_in_order;
  CHECK_FALSE(contains(table_of(findings), "in order: "));
}

TEST_CASE("a narrow terminal shows progress, time and memory") {
  generator::GenerateProgress progress{"proving", 12'345, 67'890, 1'234, 5'678};
  progress.refuted = 12;
  progress.graphs = 1e9;
  progress.values = 123'456;
  const std::string line = line_of(progress, 4, std::uint64_t{1234} << 20, 3700, 7400);
  CHECK(line.starts_with("proving 12,345 of 67,890; 1 h 1 min, about 2 h 3 min left; 1.21 GiB; 1,234 proved, 5,678 "));
  CHECK(contains(line, "derived, 12 refuted; 1,000,000,000 graphs, 123,456 classes; at most 4 operators"));
}

}  // namespace
}  // namespace taso::test
