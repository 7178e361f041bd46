#include "verifier/proof/entailment.h"

#include "tests/catch.h"
#include "verifier/integers/facts.h"

namespace taso::test {

using namespace verifier;

namespace {

using Kind = rules::Requirement::Kind;
constexpr auto yes = Entailment::Answer::yes, no = Entailment::Answer::no;

Dim symbol(const char* name) { return Dim::symbol(name); }

}  // namespace

TEST_CASE("polynomials that are equal need no solver") {
  const Dim a = symbol("a"), b = symbol("b");
  Entailment facts({{"a", 1}, {"b", 1}}, {});
  CHECK(facts.entails({Kind::equal, (a + b) * (a - b), a * a - b * b}) == yes);
  CHECK(facts.entails({Kind::at_least, a * b, 1}) == yes);
  CHECK(facts.entails({Kind::at_least, a * b, b}) == yes);
  CHECK(facts.entails({Kind::divides, a, a * b}) == yes);
  CHECK(facts.entails({Kind::divides, 2, a * 4 + 2}) == yes);
  CHECK(facts.solver_calls() == 0);
}

TEST_CASE("what does not follow has a counterexample") {
  const Dim a = symbol("a"), b = symbol("b");
  Entailment facts({{"a", 1}, {"b", 0}}, {{Kind::at_least, a, b}});
  CHECK(facts.entails({Kind::equal, a, b}) == no);
  CHECK(facts.entails({Kind::at_least, b, 1}) == no);  // b may be 0, as pads may
  CHECK(facts.entails({Kind::at_least, a * b, a}) == no);
  CHECK(facts.entails({Kind::divides, 2, a}) == no);
  CHECK(facts.entails({Kind::not_equal, a, b}) == no);
  CHECK(facts.entails({Kind::not_equal, a + 1, b}) == yes);
  CHECK(facts.consistent());
}

TEST_CASE("hypotheses are used") {
  const Dim g = symbol("g"), h = symbol("h"), w = symbol("w"), v = symbol("v"), p = symbol("p");
  Entailment facts({{"g", 1}, {"h", 1}, {"w", 1}, {"v", 1}, {"p", 1}},
                   {{Kind::divides, g, w}, {Kind::divides, h, v}, {Kind::equal, w * h, v * g}});
  CHECK(facts.entails({Kind::divides, g + h, w + v}) == yes);
  CHECK(facts.entails({Kind::divides, g, v}) == no);
  Entailment even({{"p", 0}}, {{Kind::divides, 2, p}});
  CHECK(even.entails({Kind::equal, floor_div(p, 2) * 2, p}) == yes);
  CHECK(even.entails({Kind::equal, floor_div(p + 1, 2) * 2, p}) == yes);
  CHECK(even.entails({Kind::divides, 2, p + 1}) == no);
  CHECK(even.entails({Kind::divides, 4, p}) == no);
}

TEST_CASE("quotients round down") {
  const Dim n = symbol("n"), s = symbol("s");
  Entailment facts({{"n", 1}, {"s", 1}}, {});
  CHECK(facts.entails({Kind::at_least, n, floor_div(n, s) * s}) == yes);
  CHECK(facts.entails({Kind::at_least, floor_div(n, s) * s + s, n + 1}) == yes);
  CHECK(facts.entails({Kind::at_least, floor_div(n, s) * s + s, n + 2}) == no);
  CHECK(facts.entails({Kind::at_least, floor_div(n - 1, s) + 1, 1}) == yes);
  CHECK(facts.entails({Kind::equal, floor_div(n, s), floor_div(n - 1, s)}) == no);
}

TEST_CASE("factors of products are compared") {
  const Dim v = symbol("v"), a = symbol("a"), b = symbol("b"), c = symbol("c"), d = symbol("d");
  const std::vector<rules::Unknown> unknowns{{"v", 2}, {"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  // v b <= c + d < v a
  Entailment facts(unknowns, {{Kind::at_least, v * a, c + d + 1}, {Kind::at_least, c + d, v * b}});
  CHECK(facts.entails({Kind::at_least, a, b + 1}) == yes);
  CHECK(facts.entails({Kind::at_least, a, 1}) == yes);
  CHECK(facts.entails({Kind::at_least, a, b + 2}) == no);
  CHECK(Entailment(unknowns, {{Kind::at_least, a, b + 1}}).entails({Kind::at_least, v * b, v * a}) == no);
  CHECK_FALSE(Entailment(unknowns, {{Kind::at_least, a, b + 1}, {Kind::at_least, v * b, v * a}}).consistent());
}

TEST_CASE("facts about other unknowns do not matter, unless they contradict each other") {
  const Dim a = symbol("a"), b = symbol("b"), x = symbol("x"), y = symbol("y"), z = symbol("z");
  const std::vector<rules::Unknown> unknowns{{"a", 1}, {"b", 1}, {"x", 1}, {"y", 1}, {"z", 1}};
  // Nobody finds cubes whose sum is a cube.
  const rules::Requirement cubes{Kind::equal, x * x * x + y * y * y, z * z * z};
  Entailment facts(unknowns, {cubes, {Kind::at_least, a, b + 1}, {Kind::at_least, a + b, 5}});
  CHECK(facts.entails({Kind::at_least, 2 * a, 6}) == yes);
  Entailment none(unknowns, {{Kind::at_least, a, b}, {Kind::at_least, x, y + z}, {Kind::at_least, z, x}});
  CHECK_FALSE(none.consistent());
  CHECK(none.entails({Kind::at_least, b, a + 1}) == yes);
}

TEST_CASE("contradictory hypotheses are noticed") {
  const Dim a = symbol("a"), b = symbol("b");
  CHECK_FALSE(Entailment({{"a", 1}, {"b", 1}}, {{Kind::equal, a, b + 1}, {Kind::equal, b, a}}).consistent());
  CHECK_FALSE(Entailment({{"a", 1}, {"b", 1}}, {{Kind::at_least, 2, a + b}, {Kind::not_equal, a, b}}).consistent());
  CHECK_FALSE(Entailment({{"a", 1}}, {{Kind::divides, 2, a}, {Kind::divides, 2, a + 1}}).consistent());
  CHECK(Entailment({{"a", 1}, {"b", 1}}, {{Kind::equal, a, b + 1}}).consistent());
}

TEST_CASE("names of quotients of quotients stay short") {
  Facts facts({}, {}, 1000);
  const auto variable = [&](const char* name) { return Polynomial::variable(facts.fresh(std::nullopt, name)); };
  const Polynomial y = variable("y"), z = variable("z"), divisor = variable("d");
  Polynomial value = variable("x");
  CHECK(facts.text(facts.quotient(value, divisor)) == "floor((x)/(d))");
  for (int i = 0; i < 64; ++i) value = facts.quotient(value * y + value * z, divisor);
  CHECK(facts.text(value).size() < 1000);
}

}  // namespace taso::test
