#include "cli/verify/result_bytes.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

TEST_CASE("a result is read as it was sent") {
  const rules::Rule rule =
      rules::parse_rule("rule r\n  split[axis=1, at=dim(x, 1)](concat[axis=1](x, y)) => x, y\n  where rank(x) != 3\n");
  RuleResult result;
  result.decided = result.from_cache = true;
  result.seconds = 0.5;
  result.unknown_names = {"made-up", "another"};
  result.verdict.kind = verifier::RuleVerdict::Kind::conditional;
  result.verdict.reason = "two\nlines";
  result.verdict.properties = {"a", "b"};
  result.verdict.instances = 7;
  result.verdict.by_properties = 4;
  result.verdict.by_normal_form = 3;
  result.verdict.condition = rules::parse_rule("rule r\n  relu(x) => relu(x)\n  where dim(x, 0) = 2\n").conditions;
  result.verdict.witness = "w";
  result.verdict.counterexample = "c";
  result.verdict.certificates = {"(check-sat)"};
  result.verdict.disagreement = "d";
  result.property.emplace();
  result.property->instances = 5;
  result.property->obstacle = "o";
  result.property->members = {"m"};
  result.property->is_proved_once = true;
  result.second = SecondOpinion{2, 1, "t", "s"};

  const RuleResult read = result_from(bytes_of(result, rule));
  CHECK(bytes_of(read, rule) == bytes_of(result, rule));
  CHECK(read.verdict.condition == result.verdict.condition);
  CHECK(read.verdict.kind == result.verdict.kind);
  CHECK(read.verdict.reason == result.verdict.reason);
  CHECK(read.verdict.certificates == result.verdict.certificates);
  CHECK(read.unknown_names == result.unknown_names);
  REQUIRE(read.property.has_value());
  CHECK(read.property->members == result.property->members);
  CHECK(read.property->is_proved_once);
  REQUIRE(read.second.has_value());
  CHECK(read.second->disagreement == "s");

  const RuleResult nothing = result_from(bytes_of({}, rule));
  CHECK_FALSE(nothing.decided);
  CHECK_FALSE(nothing.property.has_value());
  CHECK_FALSE(nothing.second.has_value());
  CHECK(nothing.verdict.condition.empty());
}

}  // namespace taso::test
