#include "verifier/proof/definedness.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace verifier;

namespace {

/// Why the target is not proved to be defined, at the first instance that is not; empty if all are.
std::string obstacle(const rules::Rule& rule) {
  for (const rules::Instance& instance : rules::instances(rule))
    if (const auto result = prove_definedness(instance); result.kind != NormalFormResult::proved) return result.reason;
  return "";
}

bool is_defined(const std::string& sides) {
  return obstacle(rules::parse_rule("candidate c\n  " + sides + "\n")).empty();
}

}  // namespace

TEST_CASE("the two sides of every property are defined at the same numbers") {
  const auto properties =
      rules::parse_rules(Source::read((source_folder() / "rules/properties.rules").string())).rules();
  std::size_t partial = 0;
  for (const rules::Rule& property : properties) {
    rules::Rule reversed = property;
    std::swap(reversed.source, reversed.target);
    for (const rules::Rule* direction : {&property, const_cast<const rules::Rule*>(&reversed)}) {
      bool first = true;
      for (const rules::Instance& instance : rules::instances(*direction)) {
        if (first && (source_may_be_undefined(instance) || target_may_be_undefined(instance))) ++partial;
        first = false;
        const auto result = prove_definedness(instance);
        INFO(property.name << " " << instance.choice << (direction == &reversed ? ", from right to left" : ""));
        CHECK(result.reason == "");
      }
    }
  }
  CHECK(partial > 40);
}

TEST_CASE("positive numbers are valid divisors") {
  CHECK(is_defined("relu(x) => div(relu(x), exp(x))"));
  CHECK(is_defined("relu(x) => div(relu(x), sigmoid(x))"));
  CHECK(is_defined("relu(x) => div(relu(x), add(ones[shape=shape(x)], relu(x)))"));
  CHECK(is_defined("relu(x) => div(relu(x), clip[low=1, high=6](x))"));
  CHECK(is_defined("relu(x) => sqrt(clip[low=0, high=6](x))"));
  CHECK(is_defined("relu(x) => sqrt(mul(x, x))"));
  CHECK(is_defined("relu(x) => layer_norm[axis=0](x, x)"));
  CHECK_FALSE(is_defined("relu(x) => div(x, relu(x))"));
  CHECK_FALSE(is_defined("relu(x) => div(x, mul(x, x))"));
  CHECK_FALSE(is_defined("relu(x) => div(x, clip[low=0, high=6](x))"));
  CHECK_FALSE(is_defined("relu(x) => sqrt(clip[low=-1, high=6](x))"));
  CHECK_FALSE(is_defined("relu(x) => sqrt(mul(x, relu(x)))"));
  CHECK_FALSE(is_defined("relu(x) => layer_norm[axis=0, epsilon=0](x, x)"));
  CHECK(is_defined("relu(x) => div(x, ones[shape=shape(x)])"));
}

TEST_CASE("squares are those of one element") {
  // x[i, j] x[j, i] may be negative.
  CHECK_FALSE(is_defined("mul(x, x) => sqrt(mul(x, transpose[permutation=[1, 0]](x)))"));
  CHECK_FALSE(is_defined("matmul(x, y) => sqrt(matmul(x, y))"));
  // Sum_k x[i, k] x[i, k] is not negative, but Sum_k x[i, k] x[k, i] may be.
  CHECK(is_defined("reduce_sum[axes=[1]](mul(x, x)) => sqrt(reduce_sum[axes=[1]](mul(x, x)))"));
  CHECK_FALSE(is_defined("reduce_sum[axes=[1]](x) => sqrt(mul(reduce_sum[axes=[1]](x), reduce_sum[axes=[0]](x)))"));
}

TEST_CASE("a demand of the source covers only its own elements") {
  CHECK(is_defined("div(x, y) => sub(div(x, y), div(y, y))"));
  CHECK_FALSE(is_defined("div(x, y) => sub(div(x, y), div(y, x))"));
  // For another row.
  CHECK_FALSE(is_defined("slice[axis=0, begin=0, end=2](div(x, y)) => slice[axis=0, begin=1, end=3](div(x, y))"));
  CHECK(is_defined("reduce_sum[axes=[0]](div(x, y)) => slice[axis=0, begin=0, end=1](div(x, y))"));
  CHECK_FALSE(is_defined("slice[axis=0, begin=0, end=1](div(x, y)) => reduce_sum[axes=[0]](div(x, y))"));
  // One half is covered by the first demand, the other by the second.
  CHECK(
      is_defined("reduce_sum[axes=[0]](concat[axis=0](div(x, z), div(y, w))) "
                 "=> reduce_sum[axes=[0]](div(concat[axis=0](x, y), concat[axis=0](z, w)))"));
  CHECK_FALSE(
      is_defined("reduce_sum[axes=[0]](concat[axis=0](div(x, z), mul(y, w))) "
                 "=> reduce_sum[axes=[0]](div(concat[axis=0](x, y), concat[axis=0](z, w)))"));
  // Inside the window, and in a larger one.
  CHECK(is_defined("max_pool[kernel=[3, 3], pads=[1, 1, 1, 1]](sqrt(x)) => sqrt(x)"));
  CHECK_FALSE(is_defined("max_pool[kernel=[1, 1]](sqrt(x)) => max_pool[kernel=[3, 3], pads=[1, 1, 1, 1]](sqrt(x))"));
  CHECK_FALSE(is_defined("max_pool[kernel=[3, 3], strides=[2, 2]](sqrt(x)) => sqrt(x)"));
  CHECK_FALSE(is_defined("pad[before=[1, 0], after=[0, 0]](sqrt(x)) => pad[before=[0, 0], after=[1, 0]](sqrt(x))"));
}

TEST_CASE("a mean of nothing is undefined") {
  CHECK(is_defined("x => average_pool[kernel=[3, 3], pads=[1, 1, 1, 1], count_padding=true](x)"));
  CHECK(is_defined("average_pool[kernel=[3, 3], count_padding=true](x) => average_pool[kernel=[3, 3]](x)"));
  CHECK(
      is_defined("average_pool[kernel=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]](relu(x)) "
                 "=> relu(average_pool[kernel=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]](x))"));
  CHECK_FALSE(is_defined("relu(x) => average_pool[kernel=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]](x)"));
}

}  // namespace taso::test
