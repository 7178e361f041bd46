// Rules as mathematics: signs where there are signs, parentheses only where they are needed.
#include "rules/language/mathematics.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace rules;

namespace {

std::string target_of(const std::string& text) {
  return mathematics_of(parse_rule("rule r\n  relu(x) => " + text + "\n")).target;
}

}  // namespace

TEST_CASE("operators have their signs and bind as people expect") {
  CHECK(target_of("mul(x, add(x, x))") == "x ⊙ (x + x)");
  CHECK(target_of("add(x, mul(x, x))") == "x + x ⊙ x");
  CHECK(target_of("sub(x, sub(x, x))") == "x − (x − x)");
  CHECK(target_of("sub(sub(x, x), x)") == "x − x − x");
  CHECK(target_of("matmul(x, matmul(x, x))") == "x·(x·x)");
  CHECK(target_of("transpose[permutation=[1, 0]](matmul(x, x))") == "(x·x)ᵀ");
  CHECK(target_of("sigmoid(add(x, x))") == "σ(x + x)");
  CHECK(target_of("matmul(transpose[permutation=[1, 0]](x), x)") == "xᵀ·x");
}

TEST_CASE("deeply nested calls are printed in the time that their text takes") {
  std::string text = "x";
  for (int i = 0; i < 150; ++i) text = "relu(" + text + ")";
  CHECK(target_of(text) == text);
}

TEST_CASE("joined and cut matrices are told by rows and columns") {
  CHECK(target_of("concat[axis=0](x, x)") == "[x ; x]");
  CHECK(target_of("concat[axis=1](x, x)") == "[x | x]");
  CHECK(target_of("concat[axis=rank(x) - 1](x, x)") == "[x | x]");
  CHECK(target_of("concat[axis=2](x, x)") == "[x, x]₂");
  CHECK(target_of("slice[axis=1, begin=0, end=3](x)") == "x[:, :3]");
  CHECK(target_of("second(split[axis=0, at=dim(x, 1)](x))") == "x[x.1:]");
}

TEST_CASE("no rule reads the same on both sides") {
  const auto text = [](const std::string& rule) {
    const auto [source, target] = mathematics_of(parse_rule("rule r\n  " + rule + "\n"));
    return source + " ⇒ " + target;
  };
  CHECK(text("add(add(x, y), z) => add(x, add(y, z))") == "(x + y) + z ⇒ x + (y + z)");
  CHECK(text("sub(add(x, y), z) => add(x, sub(y, z))") == "(x + y) − z ⇒ x + (y − z)");
  CHECK(text("slice[axis=0, begin=0, end=b](relu(x)) => first(split[axis=0, at=b](relu(x)))") ==
        "relu(x)[:b] ⇒ first part of relu(x) cut at b");
  CHECK(text("mul(x, second(split[axis=0, at=2](y))) => mul(x, slice[axis=0, begin=2, end=dim(y, 0)](y))") ==
        "x ⊙ y[2:] ⇒ x ⊙ y[2:y.0]");
  for (const char* const name : {"taso", "networks", "partial", "properties"}) {
    const RuleFile file =
        parse_rules(Source::read((source_folder() / "rules" / (name + std::string(".rules"))).string()));
    for (const Rule& rule : file.rules()) {
      INFO(rule.name);
      const auto [source, target] = mathematics_of(rule);
      CHECK(source != target);
    }
  }
}

TEST_CASE("both results of a split are told at once") {
  const Rule rule = parse_rule(
      "rule r\n  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, rank(y) - 1)](matmul(x, concat[axis=1](y, z)))\n"
      "  where dim(y, 0) <= dim(z, 0) + 1, divides(2, dim(x, 0)), rank(x) = 2\n");
  CHECK(mathematics_of(rule).source == "x·y,  x·z");
  CHECK(mathematics_of(rule).target == "x·[y | z] cut between columns at columns(y)");
  REQUIRE(rule.conditions.size() == 3);
  CHECK(mathematics_of(rule.conditions[0]) == "y.0 ≤ z.0 + 1");
  CHECK(mathematics_of(rule.conditions[1]) == "2 divides x.0");
  CHECK(mathematics_of(rule.conditions[2]) == "rank(x) = 2");
}

}  // namespace taso::test
