#include "verifier/refutation/refute.h"

#include "ops/core/error.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace verifier;

namespace {

struct Found {
  std::vector<rules::Instance> all;
  Refutation refutation;
  std::string text;  ///< of the counterexample
};

Found search(const std::string& rule, const RefuteOptions& options = {}) {
  Found found{rules::instances(rules::parse_rule("candidate tried\n  " + rule)), {}, {}};
  REQUIRE_FALSE(found.all.empty());
  found.refutation = refute(found.all, options);
  if (const auto& counterexample = found.refutation.counterexample)
    found.text = verifier::text_of(*counterexample, found.all[counterexample->instance]);
  return found;
}

void stands(const std::string& rule) {
  CAPTURE(rule);
  const Found found = search(rule);
  CHECK(found.text == "");
  CHECK(found.refutation.tried >= 60);
  for (const auto& witness : found.refutation.witnesses) CHECK(witness);
}

void falls(const std::string& rule) {
  CAPTURE(rule);
  CHECK(search(rule).refutation.counterexample);
}

/// The counterexample must be exactly this: small, and the same on every machine.
void falls(const std::string& rule, const std::string& text) {
  CAPTURE(rule);
  CHECK(search(rule).text == text);
}

}  // namespace

TEST_CASE("true rules have no counterexample") {
  stands("matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))");
  stands("matmul(matmul(x, y), z) => matmul(x, matmul(y, z))");
  stands("relu(relu(x)) => relu(x)");
  stands("max(add(x, z), add(y, z)) => add(max(x, y), z)");  // overflows in the field
  stands("softmax[axis=a](x) => softmax[axis=a](x)");
  stands("transpose[permutation=p](transpose[permutation=q](x)) => transpose[permutation=compose(q, p)](x)");
  stands("batch_norm[epsilon=e](x, s, b, m, v) => batch_norm[epsilon=e](x, s, b, m, v)");
}

TEST_CASE("true rules with two results, groups, strides and splits have no counterexample") {
  stands(
      "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n"
      "  where rank(x) = 2, rank(y) = 2, rank(z) = 2");
  stands(
      "concat[axis=1](conv[strides=s, dilations=d, pads=p](x, w), conv[strides=s, dilations=d, pads=p](x, v))\n"
      "  => conv[strides=s, dilations=d, pads=p](x, concat[axis=0](w, v))\n"
      "  where spatial(w) = spatial(v)");
  stands(
      "conv[strides=s, pads=p, groups=g](x, add(v, w))\n"
      "  => add(conv[strides=s, pads=p, groups=g](x, v), conv[strides=s, pads=p, groups=g](x, w))");
  stands("concat[axis=a](first(split[axis=a, at=n](x)), second(split[axis=a, at=n](x))) => x");
}

TEST_CASE("a law that fails only in the field is counted, but not refuted") {
  const Found found = search("mul(exp(x), exp(y)) => exp(add(x, y))");
  CHECK_FALSE(found.refutation.counterexample);
  CHECK(found.refutation.only_in_field > 100);
  // Nor is one that rounding hides or causes.
  CHECK_FALSE(search("sub(add(exp(x), y), exp(x)) => y").refutation.counterexample);
  CHECK_FALSE(search("mul(sqrt(x), sqrt(x)) => x").refutation.counterexample);
}

TEST_CASE("a counterexample is as small as possible") {
  falls("matmul(x, y) => matmul(y, x)",
        "at rank(x) = 2, rank(y) = 2\n"
        "  x [1, 1]\n"
        "  y [1, 2]\n"
        "  the target is not well-formed: matmul: the inner dimensions of [1, 2] and [1, 1] differ");
  falls("matmul(x, y) => matmul(y, x)\n  where shape(x) = shape(y)",
        "at rank(y) = 2, rank(x) = 2\n"
        "  x [2, 2] = [[0, 0], [0, 1]]\n"
        "  y [2, 2] = [[0, 0], [1, 0]]\n"
        "  source [2, 2] = [[0, 0], [1, 0]]\n"
        "  target [2, 2] = [[0, 0], [0, 0]]\n"
        "  they differ at [1, 0]: 1 and 0");
  falls("relu(add(x, y)) => add(relu(x), relu(y))",
        "at rank(x) = 1, rank(y) = 1\n"
        "  x [1] = [-1]\n"
        "  y [1] = [1]\n"
        "  source [1] = [0]\n"
        "  target [1] = [1]\n"
        "  they differ at [0]: 0 and 1");
}

TEST_CASE("depthwise convolutions on one input do not merge") {
  falls(
      "concat[axis=1](conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, concat[axis=0](w, v))\n"
      "  where spatial(w) = spatial(v)",
      "at rank(v) = 3, rank(w) = 3, rank(x) = 3, g = 2\n"
      "  x [1, 2, 1] = [[[0], [1]]]\n"
      "  w [2, 1, 1] = [[[0]], [[0]]]\n"
      "  v [2, 1, 1] = [[[1]], [[0]]]\n"
      "  source [1, 4, 1] = [[[0], [0], [0], [0]]]\n"
      "  target [1, 4, 1] = [[[0], [0], [1], [0]]]\n"
      "  they differ at [0, 2, 0]: 0 and 1");
}

TEST_CASE("each result counts") {
  const Found found = search(
      "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, y)))\n"
      "  where rank(x) = 2, shape(y) = shape(z)");
  REQUIRE(found.refutation.counterexample);
  CHECK(found.refutation.counterexample->result == 1);
  CHECK(found.text.find("they differ in result 2 at [0, 0]:") != std::string::npos);
  falls(
      "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(z, 1)](matmul(x, concat[axis=1](y, z)))\n"
      "  where rank(x) = 2, rank(y) = 2, rank(z) = 2",
      "at rank(x) = 2, rank(y) = 2, rank(z) = 2\n"
      "  x [1, 1]\n"
      "  y [1, 2]\n"
      "  z [1, 1]\n"
      "  the results have different shapes: [1, 2] and [1, 1]");
}

TEST_CASE("a target of another rank is a counterexample") {
  falls("relu(x) => reduce_max[axes=[0], keep=false](x)",
        "at rank(x) = 1\n"
        "  x [1]\n"
        "  the target is not well-formed: ranks do not fit, whatever the dimensions are");
}

TEST_CASE("differences that attributes make are found") {
  falls("max_pool[kernel=k, strides=s, pads=p](x) => max_pool[kernel=k, strides=1, pads=p](x)");
  falls("leaky_relu[alpha=t](leaky_relu[alpha=t](x)) => leaky_relu[alpha=t](x)");
}

TEST_CASE("different functions are told apart") {
  falls("gelu[tanh=true](x) => gelu[tanh=false](x)");
  falls("sigmoid(x) => tanh(x)");
  falls("softmax[axis=0](x) => softmax[axis=1](x)\n  where rank(x) = 2");
  falls("clip[low=0, high=6](x) => relu(x)");
  falls("clip[low=0, high=1](relu(x)) => clip[low=0, high=1](mul(relu(x), relu(x)))");  // between 0 and 1 only
  falls("hard_swish(x) => mul(x, sigmoid(x))");
  falls("batch_norm[epsilon=0.5](x, s, b, m, v) => batch_norm[epsilon=0.25](x, s, b, m, v)");
  falls("pow(x, y) => pow(y, x)\n  where shape(x) = shape(y)");
}

TEST_CASE("the same seed finds the same, and a request to stop is heard") {
  const std::string rule = "conv[strides=s, pads=p](x, add(v, w)) => conv[strides=s, pads=p](x, v)";
  CHECK(search(rule).text == search(rule).text);
  std::stop_source source;
  source.request_stop();
  CHECK(search(rule, {.stop = source.get_token()}).refutation.tried == 0);
}

}  // namespace taso::test
