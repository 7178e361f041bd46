#include "verifier/refutation/small_sizes.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace verifier;

namespace {

SmallSizes checked(const std::string& rule, const SmallSizesOptions& options = {}) {
  return check_small_sizes(rules::instances(rules::parse_rule("candidate tried\n  " + rule)), options);
}

void holds_there(const std::string& rule, std::size_t least) {
  const SmallSizes sizes = checked(rule);
  CAPTURE(rule, sizes.reason);
  CHECK(sizes.proved >= least);
  CHECK(sizes.refuted == 0);
  CHECK(sizes.unknown == 0);
}

void fails_there(const std::string& rule) {
  const SmallSizes sizes = checked(rule);
  CAPTURE(rule);
  CHECK(sizes.refuted > 0);
  CHECK(sizes.reason != "");
}

}  // namespace

TEST_CASE("true rules are proved at small sizes") {
  holds_there("matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))", 8);
  holds_there("max(add(x, z), add(y, z)) => add(max(x, y), z)", 8);
  holds_there(
      "conv[strides=s, pads=p, groups=g](x, add(v, w))\n"
      "  => add(conv[strides=s, pads=p, groups=g](x, v), conv[strides=s, pads=p, groups=g](x, w))",
      8);
  holds_there(
      "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n"
      "  where rank(x) = 2, rank(y) = 2, rank(z) = 2",
      8);
  holds_there("exp(add(x, y)) => exp(add(y, x))", 8);
}

TEST_CASE("false rules are refuted at small sizes") {
  fails_there("matmul(x, y) => matmul(y, x)\n  where shape(x) = shape(y)");
  fails_there("matmul(x, y) => matmul(y, x)");
  fails_there("relu(add(x, y)) => add(relu(x), relu(y))");
  fails_there(
      "concat[axis=1](conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, concat[axis=0](w, v))\n"
      "  where spatial(w) = spatial(v)");
  fails_there("relu(x) => reduce_max[axes=[0], keep=false](x)");
}

TEST_CASE("functions are uninterpreted at small sizes") { fails_there("mul(exp(x), exp(y)) => exp(add(x, y))"); }

TEST_CASE("a limit at small sizes is not a refutation") {
  const SmallSizes sizes = checked("add(max(x, y), min(x, y)) => add(x, y)", {.effort = 1});
  CHECK(sizes.refuted == 0);
  CHECK(sizes.unknown > 0);
}

TEST_CASE("small assignments satisfy the hypotheses, and are complete if there are few") {
  const auto all = rules::instances(
      rules::parse_rule("candidate tried\n  matmul(x, y) => matmul(x, y)\n  where rank(x) = 2, rank(y) = 2"));
  REQUIRE(all.size() == 1);
  CHECK(small_assignments(all[0], 2, 1).size() == 8);
  CHECK(small_assignments(all[0], 3, 1).size() == 27);
  const auto conv =
      rules::instances(rules::parse_rule("candidate tried\n  conv[strides=s, pads=p](x, w) => x\n  where rank(x) = 4"));
  REQUIRE(conv.size() == 1);
  const rules::AssignmentSampler sampler(conv[0]);
  for (const rules::Assignment& assignment : small_assignments(conv[0], 2, 1))
    CHECK(sampler.admits(assignment.unknowns));
}

}  // namespace taso::test
