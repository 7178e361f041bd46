#include "cli/verify/results.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

using Outcome = RuleResult::Outcome;

TEST_CASE("XML text has only valid XML characters") {
  CHECK(xml_text("a < b & c > \"d\" 'e'") == "a &lt; b &amp; c &gt; &quot;d&quot; &apos;e&apos;");
  CHECK(xml_text(std::string_view("\0\x01\x1b[1m\r\x7f", 8)) == "[1m\x7f");
  CHECK(xml_text("line\nline\t") == "line&#10;line&#9;");
  CHECK(xml_text("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") == "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  CHECK(xml_text("\xff") == bad);
  CHECK(xml_text("\xc3") == bad);                      // truncated
  CHECK(xml_text("\xc0\x80") == bad + bad);            // overlong
  CHECK(xml_text("\xe0\x80\x80") == bad + bad + bad);  // overlong, three bytes
  CHECK(xml_text("\xed\xa0\x80") == bad + bad + bad);  // half of a surrogate pair
  CHECK(xml_text("\xef\xbf\xbf") == bad + bad + bad);  // U+FFFF
  CHECK(xml_text("\xf4\x90\x80\x80") == bad + bad + bad + bad);
}

TEST_CASE("questions are counted outside of comments, strings and names") {
  CHECK(questions_in("") == 0);
  CHECK(questions_in("(check-sat)\n(reset)\n(check-sat)") == 2);
  CHECK(questions_in("; (check-sat)\n(check-sat)") == 1);
  CHECK(questions_in("(declare-const |(check-sat)| Bool) (echo \"(check-sat)\") (check-sat)") == 1);
  CHECK(questions_in("; (check-sat)") == 0);
  CHECK(questions_in("\"(check-sat)") == 0);
}

TEST_CASE("a rule passes if it is proved, by known properties, without contradiction") {
  RuleResult result;
  CHECK(result.outcome() == Outcome::undecided);
  CHECK_FALSE(result.passed());
  result.decided = true;
  CHECK(result.outcome() == Outcome::unknown);
  result.verdict.kind = verifier::RuleVerdict::Kind::proved;
  CHECK(result.passed());
  RuleResult named = result;
  named.unknown_names = {"nothing"};
  CHECK_FALSE(named.passed());
  RuleResult doubted = result;
  doubted.second = SecondOpinion{1, 0, "", "sat"};
  CHECK_FALSE(doubted.passed());
  RuleResult open = result;
  open.second = SecondOpinion{1, 5, "unknown", ""};
  CHECK(open.passed());
  for (const auto kind : {verifier::RuleVerdict::Kind::conditional, verifier::RuleVerdict::Kind::refuted,
                          verifier::RuleVerdict::Kind::unknown}) {
    result.verdict.kind = kind;
    CHECK_FALSE(result.passed());
  }
}

TEST_CASE("properties without evidence are not valid") {
  RuleResult result;
  result.decided = true;
  result.property.emplace();
  CHECK(result.outcome() == Outcome::unknown);
  result.property->instances = 2;
  result.property->small_sizes = 1;
  result.property->random_shapes = 5;
  CHECK(result.outcome() == Outcome::valid);
  CHECK(result.passed());
  result.property->proved = 2;
  CHECK(result.outcome() == Outcome::proved);
  result.property->counterexample = "x = [1]";
  CHECK(result.outcome() == Outcome::refuted);
  CHECK_FALSE(result.passed());
}

}  // namespace
}  // namespace taso::test
