// Corrected programs with the real prover: what is proved, what it means at known sizes, and that the number of jobs
// changes nothing.
#include "tests/generator/partial_rules.h"

#include <algorithm>
#include <map>

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "verifier/agreement/samples.h"

namespace taso::test {

using namespace generator;

namespace {

std::string text_of(const PartialReport& report) {
  std::string text;
  for (const std::string& kind : report.kinds) text += kind + "\n";
  for (const PartialRule& one : report.rules)
    text += one.kind + " " + std::to_string(one.share) + "\n" + print(one.rule);
  for (const auto* list : {&report.refuted, &report.unknown})
    for (const Rejected& one : *list) text += print(one.rule) + one.reason + "\n";
  return text;
}

}  // namespace

TEST_CASE("partial: corrected programs are found, proved and right", "[threads]") {
  const std::vector<std::string> everywhere{"pointwise-conv-space-to-batch", "transposed-conv-taps-to-filters",
                                            "transposed-conv-of-tiles-taps-to-filters"};
  std::vector<std::string> kinds{"conv-of-3-space-to-batch", "average-pool-with-pads-batch-to-space",
                                 "transposed-conv-space-to-batch", "conv-relu-conv-space-to-batch"};
  kinds.insert(kinds.end(), everywhere.begin(), everywhere.end());
  const PartialReport report = partial_report(kinds, 1);
  CHECK(report.complete);
  CHECK(report.refuted.empty());
  CHECK(report.unknown.empty());
  CHECK(report.sources.size() == all_sources().size());
  CHECK(report.rules.size() == report.everywhere + report.partly);
  CHECK(std::is_sorted(report.kinds.begin(), report.kinds.end()));
  for (const std::string& kind : kinds) {
    INFO(kind);
    CHECK(std::find(report.kinds.begin(), report.kinds.end(), kind) != report.kinds.end());
    const bool has_rules =
        std::any_of(report.rules.begin(), report.rules.end(), [&](const PartialRule& one) { return one.kind == kind; });
    CHECK(has_rules);
  }
  for (const PartialRule& one : report.rules) {
    INFO(print(one.rule));
    CHECK(one.rule.name.rfind(one.kind, 0) == 0);
    const bool needs_correction = std::find(everywhere.begin(), everywhere.end(), one.kind) == everywhere.end();
    CHECK(one.is_corrected == needs_correction);
    CHECK(one.share >= 0.5);
    CHECK((one.share < 1) == one.is_corrected);
    CHECK(rules::text_of(one.rule.target).starts_with("concat") == one.is_corrected);
    CHECK_FALSE(one.rule.by.empty());
    REQUIRE(one.rule.comments.size() == 1);
    CHECK(rules::parse_rule(print(one.rule)).same_statement(one.rule));
    const std::vector<rules::Instance> instances = rules::instances(one.rule);
    REQUIRE(instances.size() == 1);
    std::size_t positions = 0;
    for (const verifier::Sample& sample : verifier::samples_of(instances[0], {11, 6, 1, 1e5})) {
      positions += sample.field.equal.size();
      const bool equal =
          std::find(sample.field.equal.begin(), sample.field.equal.end(), false) == sample.field.equal.end();
      CHECK(equal);
    }
    CHECK(positions > 50);
  }
  SECTION("any number of jobs gives the same") { CHECK(text_of(partial_report(kinds, 3)) == text_of(report)); }
}

TEST_CASE("partial: nothing is kept that is not proved or right too rarely") {
  const std::string everywhere = "pointwise-conv-space-to-batch", rarely = "conv-of-3-space-to-batch",
                    unknown = "conv-of-3-batch-to-space";
  PartialOptions options;
  options.kinds = {everywhere, rarely, unknown};
  options.least_share = 0.6;
  std::size_t asked = 0;
  options.prove = [&](const rules::Rule& rule) {
    CHECK(rule.name.starts_with(everywhere));
    ++asked;
    return ProofOutcome{asked % 2 == 0 ? ProofOutcome::Kind::refuted : ProofOutcome::Kind::unknown, {}, {}, "no"};
  };
  options.agree = [&](const rules::Rule& rule) {
    if (rule.name.starts_with(unknown)) return Region{{}, "nothing is known"};
    const Span all{0, 1, true, true}, half{ops::floor_div(ops::Dim::symbol("dim(x, 2)"), 2), 1, false, true};
    return Region{{{all, all, half}}, ""};
  };
  const PartialReport report = generate_partial(options);
  CHECK(report.rules.empty());
  CHECK(asked > 2);
  CHECK(report.refuted.size() == asked / 2);
  const auto count = [&](const std::string& name, const std::string& reason) {
    return std::count_if(report.unknown.begin(), report.unknown.end(),
                         [&](const Rejected& one) { return one.rule.name.starts_with(name) && one.reason == reason; });
  };
  CHECK(count(everywhere, "no") == static_cast<std::ptrdiff_t>(asked - asked / 2));
  CHECK(count(rarely, "right on 50.0 % of the output") == 6);
  CHECK(count(unknown, "nothing is known") == 1);
}

TEST_CASE("partial: a region that is not known is asked for again with what is usual") {
  PartialOptions options;
  options.kinds = {"conv-batch-to-space", "max-pool-space-to-batch"};
  std::map<std::string, std::vector<std::string>> asked;
  const auto is_usual = [](const rules::Rule& rule) { return print(rule).find("dim(x, 2) - q0 - 1 >= 0") < 10'000; };
  options.agree = [&](const rules::Rule& rule) {
    asked[rule.name].push_back(is_usual(rule) ? "usual" : "any");
    const Span all{0, 1, true, true}, inner{ops::Dim::symbol("p0"), 1, false, true};
    if (rule.name.starts_with("conv") && is_usual(rule)) return Region{{{all, all, inner}}, ""};
    return Region{{}, "more is needed"};
  };
  std::size_t proved = 0;
  options.prove = [&](const rules::Rule& rule) {
    CHECK(rule.name.starts_with("conv-batch-to-space"));
    // Along the width, other sizes are assumed.
    CHECK(is_usual(rule) == (rule.name.find("width") == std::string::npos));
    ++proved;
    return ProofOutcome{ProofOutcome::Kind::proved, {}, {}, ""};
  };
  const PartialReport report = generate_partial(options);
  CHECK(report.rules.size() == proved);
  CHECK(proved == 8);
  using Questions = std::vector<std::string>;
  CHECK(asked["conv-batch-to-space-1d"] == Questions{"any", "usual"});
  CHECK(asked["max-pool-space-to-batch-1d"] == Questions{"any", "usual"});
  REQUIRE(report.unknown.size() == 1);
  CHECK(report.unknown[0].reason == "more is needed");
}

TEST_CASE("partial: a search that is stopped says so") {
  std::stop_source stop;
  stop.request_stop();
  PartialOptions options;
  options.stop = stop.get_token();
  CHECK_FALSE(generate_partial(options).complete);
}

}  // namespace taso::test
