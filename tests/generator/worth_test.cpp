// Tests which laws are worth a rule.
#include "generator/selection/worth.h"

#include <algorithm>

#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

rules::Rule rule(const std::string& text) { return rules::parse_rule("rule r\n  " + text + "\n"); }

std::vector<rules::Rule> rules_of(const Worth& worth) {
  std::vector<rules::Rule> all;
  for (const Law& law : worth.laws) all.insert(all.end(), law.begin(), law.end());
  return all;
}
bool has(const Worth& worth, const std::string& text) {
  const auto all = rules_of(worth);
  return std::any_of(all.begin(), all.end(), [&](const rules::Rule& one) { return one.same_statement(rule(text)); });
}

}  // namespace

TEST_CASE("a source that no model has cannot match") {
  CHECK(can_match(rule("relu(relu(x)) => relu(x)")));
  CHECK(can_match(rule("conv(x, w) => conv[pads=1](x, enlarge[kernel=[3, 3]](w))\n  where spatial(w) = [1, 1]")));
  // Undoes what only a rule does.
  CHECK_FALSE(can_match(rule("conv[pads=1](x, enlarge[kernel=[3, 3]](w)) => conv(x, w)\n  where spatial(w) = [1, 1]")));
  CHECK_FALSE(can_match(rule("mul(x, ones[shape=shape(x)]) => x")));
  CHECK_FALSE(can_match(rule("matmul(x, identity_matrix[size=dim(x, 1)]) => x")));
}

TEST_CASE("a law with equal inputs is a coincidence") {
  CHECK(is_coincidence(rule("add(relu(x), relu(x)) => relu(add(x, x))")));
  CHECK(is_coincidence(rule("matmul(x, add(y, y)) => matmul(add(x, x), y)")));
  CHECK(is_coincidence(rule("mul(x, add(y, mul(z, y))) => mul(y, add(x, mul(z, x)))")));
  CHECK_FALSE(is_coincidence(rule("add(mul(x, y), mul(x, z)) => mul(x, add(y, z))")));
  CHECK_FALSE(is_coincidence(rule("sub(x, sub(x, y)) => y")));
  CHECK_FALSE(is_coincidence(rule("relu(mul(x, x)) => mul(x, x)")));
}

TEST_CASE("a law that only exchanges inputs is recognised") {
  CHECK(only_permutes_inputs(rule("add(x, y) => add(y, x)")));
  CHECK(only_permutes_inputs(rule("matmul(sub(x, y), sub(z, w)) => matmul(sub(y, x), sub(w, z))")));
  CHECK_FALSE(only_permutes_inputs(rule("add(x, add(y, z)) => add(y, add(z, x))")));
  CHECK_FALSE(only_permutes_inputs(
      rule("concat[axis=1](concat(x, y), concat(z, w)) => concat(concat[axis=1](x, z), concat[axis=1](y, w))\n"
           "  where dim(x, 0) = dim(z, 0)")));
}

TEST_CASE("polynomial identities are recognised") {
  CHECK(is_polynomial_identity(rule("sub(x, add(y, z)) => sub(sub(x, y), z)")));
  CHECK(is_polynomial_identity(rule("scalar_mul(x, add(y, z)) => add(scalar_mul(x, y), scalar_mul(x, z))")));
  CHECK(is_polynomial_identity(rule("relu(add(x, y)) => relu(add(y, x))")));
  CHECK_FALSE(is_polynomial_identity(rule("sub(x, y) => sub(y, x)")));
  CHECK_FALSE(is_polynomial_identity(rule("relu(relu(x)) => relu(x)")));
}

TEST_CASE("kernels are counted without known operators and views") {
  const auto kernels = [](const std::string& text) { return kernels_of(rule(text + " => x").source); };
  CHECK(kernels("relu(x)") == 1);
  CHECK(kernels("mul(relu(x), relu(x))") == 2);
  CHECK(kernels("conv(x, add(w, v))") == 1);
  CHECK(kernels("scalar_mul(x, mul(y, z))") == 1);
  CHECK(kernels("first(split[at=1](reshape[shape=[2, 3]](x)))") == 0);
  CHECK(kernels("add(conv(x, w), reshape[shape=[1, dim(b, 0), 1, 1]](b))") == 1);
}

TEST_CASE("a rule is useful if it saves a kernel, or moves something to where it may be merged") {
  CHECK(is_useful_direction(rule("concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))")));
  CHECK(is_useful_direction(rule("relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))")));
  CHECK(is_useful_direction(rule("relu(x) => relu(relu(x))")));
  CHECK_FALSE(is_useful_direction(rule("mul(x, x) => relu(mul(x, x))")));
  CHECK_FALSE(is_useful_direction(rule("matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))")));
  CHECK(is_useful_direction(
      rule("matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))")));
  CHECK_FALSE(is_useful_direction(rule("tanh(x), tanh(y) => split[at=dim(x, 0)](tanh(concat(x, y)))")));
}

TEST_CASE("laws that follow from the rest, or are stated, are left out") {
  const Law back = {rule("transpose[permutation=[1, 0]](transpose[permutation=[1, 0]](x)) => x")};
  const Law relu = {rule("relu(transpose[permutation=p](x)) => transpose[permutation=p](relu(x))"),
                    rule("transpose[permutation=p](relu(x)) => relu(transpose[permutation=p](x))")};
  const Law both = {rule("relu(transpose[permutation=p](relu(x))) => relu(transpose[permutation=p](x))")};
  const Law twice = {rule("relu(relu(x)) => relu(x)"), rule("relu(x) => relu(relu(x))")};
  const Worth alone = worth_of({back, relu, both, twice}, {});
  CHECK(rules_of(alone).size() == 5);
  CHECK(alone.proved == 6);
  CHECK_FALSE(has(alone, "relu(transpose[permutation=p](relu(x))) => relu(transpose[permutation=p](x))"));
  const Worth beside = worth_of({back, relu, both, twice},
                                {rule("transpose[permutation=inverse(p)](transpose[permutation=p](x)) => x")});
  CHECK(rules_of(beside).size() == 4);
  CHECK(beside.not_stated == 5);
}

TEST_CASE("if a law is stated in one direction, the other one stays") {
  const Law law = {rule("concat[axis=1](transpose[permutation=[1, 0]](x), transpose[permutation=[1, 0]](y)) "
                        "=> transpose[permutation=[1, 0]](concat(x, y))"),
                   rule("transpose[permutation=[1, 0]](concat(x, y)) "
                        "=> concat[axis=1](transpose[permutation=[1, 0]](x), transpose[permutation=[1, 0]](y))")};
  const Worth worth = worth_of({law}, {rule("concat[axis=a](transpose[permutation=p](x), transpose[permutation=p](y)) "
                                            "=> transpose[permutation=p](concat[axis=p[a]](x, y))")});
  REQUIRE(rules_of(worth).size() == 1);
  CHECK(rules_of(worth)[0].source[0]->op == "transpose");
}

TEST_CASE("arithmetic is kept if it saves a kernel or is associativity") {
  const Law mixed = {rule("sub(x, add(y, z)) => sub(sub(x, y), z)"), rule("sub(sub(x, y), z) => sub(x, add(y, z))")};
  const Law factor = {rule("add(mul(x, y), mul(x, z)) => mul(x, add(y, z))"),
                      rule("mul(x, add(y, z)) => add(mul(x, y), mul(x, z))")};
  const Law order = {rule("add(x, add(y, z)) => add(y, add(z, x))"), rule("add(x, add(y, z)) => add(z, add(x, y))")};
  const Worth worth = worth_of({mixed, factor, order}, {});
  CHECK(rules_of(worth).size() == 2);
  CHECK(has(worth, "add(mul(x, y), mul(x, z)) => mul(x, add(y, z))"));
  CHECK(has(worth, "add(x, add(y, z)) => add(y, add(z, x))"));
}

TEST_CASE("scaling by a product and scaling twice are kept in both directions") {
  const Law law = {rule("scalar_mul(scalar_mul(x, y), z) => scalar_mul(x, mul(y, z))"),
                   rule("scalar_mul(x, mul(y, z)) => scalar_mul(scalar_mul(x, y), z)")};
  CHECK(rules_of(worth_of({law}, {})).size() == 2);
}

}  // namespace taso::test
