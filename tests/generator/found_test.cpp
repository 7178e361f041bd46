// The generator finds and proves the rules of found.rules without being given them, or they follow from its rules by
// rewriting.
#include <algorithm>
#include <chrono>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/generator/derivation.h"
#include "tests/generator/proved_rules.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace generator;

namespace {

/// A rule that must be found, and where.
struct Case {
  rules::Rule rule;
  std::vector<std::string> operators;
  std::size_t size = 0;
  std::string pending;  ///< why it is not expected yet
};

std::vector<std::string> words(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

Case case_of(rules::Rule rule) {
  Case result;
  for (const std::string& comment : rule.comments) {
    const auto after = [&](std::string_view key) -> std::optional<std::string> {
      const auto place = comment.find(key);
      if (place == std::string::npos) return std::nullopt;
      return comment.substr(place + key.size());
    };
    if (const auto reason = after("pending: ")) result.pending = *reason;
    if (const auto operators = after("operators: "))
      result.operators = words(operators->substr(0, operators->find(';')));
    if (const auto size = after("size: ")) result.size = std::stoul(*size);
  }
  result.rule = std::move(rule);
  return result;
}

std::vector<Case> cases_of(std::string_view file) {
  std::vector<Case> result;
  const Source source = Source::read((source_folder() / "tests/generator" / file).string());
  for (rules::Rule& rule : rules::parse_rules(source).rules()) result.push_back(case_of(std::move(rule)));
  return result;
}

/// Empty if it is missing; otherwise how it was found.
std::string how_found(const rules::Rule& rule, const std::vector<rules::Rule>& rules, std::string& obstacle) {
  if (const std::string name = rule_that_says(rule, rules); !name.empty()) return "among what was found: " + name;
  obstacle = obstacle_to_deriving(rule, equations_of(rules), {.rounds = 8, .terms = 5000, .matches = 50000});
  return obstacle.empty() ? "derived from what was found" : "";
}

}  // namespace

TEST_CASE("known laws are found without being given") {
  const auto cases = cases_of("found.rules");
  CHECK(cases.size() >= 35);
  for (const Case& one : cases) {
    INFO(rules::print(one.rule));
    REQUIRE_FALSE(one.operators.empty());
    REQUIRE(one.size > 0);
    CHECK(verdict_on(one.rule).kind == verifier::RuleVerdict::Kind::proved);
    const auto begin = std::chrono::steady_clock::now();
    const GenerateReport& report = proved_with(one.operators, one.size);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::string obstacle;
    const std::string found = how_found(one.rule, report.rules, obstacle);
    const std::string outcome =
        !found.empty()
            ? found
            : fmt::format("neither among the {} rules that {} operators of {} give nor derived from them: {}",
                          report.rules.size(), one.size, fmt::join(one.operators, ", "), obstacle);
    if (std::getenv("TASO_FIGURES") != nullptr)
      fmt::print(stderr, "{}: {} ({:.1f} s)\n", one.rule.name, outcome, seconds.count());
    if (!one.pending.empty()) {
      // A rule that is found must not stay marked.
      INFO("marked as pending, and found: the mark is to go");
      CHECK(found.empty());
      fmt::print(stderr, "pending: {}: {}\n", one.rule.name, one.pending);
      continue;
    }
    INFO(outcome);
    CHECK_FALSE(found.empty());
  }
}

TEST_CASE("larger laws follow from those found") {
  for (const Case& one : cases_of("reached.rules")) {
    INFO(rules::print(one.rule));
    CHECK(verdict_on(one.rule).kind == verifier::RuleVerdict::Kind::proved);
    const GenerateReport& report = proved_with(one.operators, one.size);
    CHECK(rule_that_says(one.rule, report.rules) == "");
    const std::string obstacle =
        obstacle_to_deriving(one.rule, equations_of(report.rules), {.rounds = 8, .terms = 20000, .matches = 200000});
    CHECK(obstacle == "");
  }
}

// A rule that follows from the shipped rules in many steps, or only from their reverse, is useless to a search.
TEST_CASE("known laws follow from one shipped rule, or from two") {
  std::vector<rules::Rule> shipped;
  for (const char* file : {"rules/taso.rules", "rules/networks.rules"})
    for (rules::Rule& rule : rules::parse_rules(Source::read((source_folder() / file).string())).rules())
      shipped.push_back(std::move(rule));
  const rules::Properties equations = equations_in_a_search(shipped);
  for (const Case& one : cases_of("found.rules")) {
    if (!one.pending.empty()) continue;
    INFO(rules::print(one.rule));
    std::vector<rules::Rule> in_this_direction;
    std::copy_if(shipped.begin(), shipped.end(), std::back_inserter(in_this_direction),
                 [&](const rules::Rule& rule) { return operators_of(rule.source) == operators_of(one.rule.source); });
    std::string outcome = rule_that_says(one.rule, in_this_direction);
    if (outcome.empty() && rule_that_says(one.rule, shipped).empty()) {
      const rules::SaturationLimits twice{.rounds = 2, .terms = 20000, .matches = 400000};
      if (obstacle_to_deriving(one.rule, equations, twice).empty()) outcome = "in two steps";
    }
    if (std::getenv("TASO_FIGURES") != nullptr) fmt::print(stderr, "{}: {}\n", one.rule.name, outcome);
    CHECK(outcome != "");
  }
}

}  // namespace taso::test
