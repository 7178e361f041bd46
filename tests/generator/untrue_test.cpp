// False rules are not found: none is among the generator's rules, and none follows from them.
#include <filesystem>

#include <fmt/format.h>

#include "generator/enumeration/family.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/generator/derivation.h"
#include "tests/generator/proved_rules.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace generator;

namespace {

std::vector<rules::Rule> rules_of(const std::filesystem::path& file) {
  return rules::parse_rules(Source::read(file.string())).rules();
}

/// The false rules here and in the corpus of the verifier, without those whose sides are equal as total functions:
/// derivations show equality only; the verifier decides whether a target is defined.
std::vector<rules::Rule> untrue_rules() {
  std::vector<std::filesystem::path> files{source_folder() / "tests/generator/untrue.rules"};
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/verifier/unsound"))
    if (entry.path().extension() == ".rules" && entry.path().stem() != "definedness") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<rules::Rule> rules;
  for (const auto& file : files)
    for (rules::Rule& rule : rules_of(file)) rules.push_back(std::move(rule));
  return rules;
}

void check_none_is_said_by(const std::vector<rules::Rule>& rules) {
  const rules::Properties equations = equations_of(rules);
  const std::vector<rules::Rule> untrue = untrue_rules();
  CHECK(untrue.size() > 170);
  for (const rules::Rule& rule : untrue) {
    INFO(rules::print(rule));
    const std::string said = rule_that_says(rule, rules);
    CHECK(said == "");
    const rules::SaturationLimits limits{.rounds = 4, .terms = 400, .matches = 4000};
    const bool follows = obstacle_to_deriving(rule, equations, limits).empty();
    CHECK_FALSE(follows);
  }
}

}  // namespace

TEST_CASE("every rule that must be false is refuted") {
  for (const rules::Rule& rule : rules_of(source_folder() / "tests/generator/untrue.rules")) {
    INFO(rules::print(rule));
    const auto kind = verdict_on(rule, {.abduce = false}).kind;
    CHECK(kind == verifier::RuleVerdict::Kind::refuted);
  }
}

TEST_CASE("a false rule would be noticed") {
  const rules::Rule wrong = rules::parse_rule(
      "rule wrong\n  add(x, mul(y, z)) => mul(add(y, x), z)\n  where shape(x) = shape(y), shape(y) = shape(z)\n  by "
      "x\n");
  const rules::Rule asked = rules::parse_rule(
      "candidate c\n  add(mul(x, y), z) => mul(add(x, z), y)\n  where shape(x) = shape(y), shape(y) = shape(z)\n");
  const rules::Rule commutes = rules::parse_rule("rule commutes\n  add(x, y) => add(y, x)\n  by x\n");
  CHECK(rule_that_says(asked, {wrong}) == "");
  CHECK(obstacle_to_deriving(asked, equations_of({wrong, commutes}), {}) == "");
}

TEST_CASE("nothing false is found with TASO's operators") {
  const auto schemas = taso_schemas();
  const GenerateReport& report = proved_with(schemas, 3);
  CHECK(report.rules.size() > 100);
  check_none_is_said_by(report.rules);
}

TEST_CASE("nothing false follows from the shipped rules") {
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "rules")) {
    if (entry.path().extension() != ".rules" || entry.path().stem() == "properties") continue;
    INFO(entry.path());
    check_none_is_said_by(rules_of(entry.path()));
  }
}

}  // namespace taso::test
