#include "rules/instance/float_class.h"

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace rules;

namespace {

Rule rule(const std::string& sides) { return parse_rule("candidate c\n  " + sides + "\n"); }
std::string classes(const std::string& sides) { return rules::text_of(float_class(rule(sides))); }

}  // namespace

TEST_CASE("moved data stays the same to the bit") {
  CHECK(classes("relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))") == "exact");
  CHECK(classes("transpose[permutation=inverse(p)](transpose[permutation=p](exp(x))) => exp(x)") == "exact");
  CHECK(classes("add(x, mul(y, z)) => add(mul(z, y), x)") == "exact");
  CHECK(classes("split[axis=a, at=n](tanh(x)) => tanh(first(split[axis=a, at=n](x))), "
                "tanh(second(split[axis=a, at=n](x)))") == "exact");
  CHECK(classes("relu(matmul(x, y)), tanh(matmul(x, y)) => relu(matmul(x, y)), tanh(matmul(x, y))") == "exact");
}

TEST_CASE("merged or reversed sums may be in another order") {
  CHECK(classes("matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n"
                "  where rank(x) = 2, rank(y) = 2, rank(z) = 2") == "reassociates");
  CHECK(classes("transpose[permutation=[1, 0]](matmul(x, y)) => matmul(transpose[permutation=[1, 0]](y), "
                "transpose[permutation=[1, 0]](x))") == "reassociates");
  CHECK(classes("conv[strides=s, pads=p](x, w), conv[strides=s, pads=p](x, v) => "
                "split[axis=1, at=dim(w, 0)](conv[strides=s, pads=p](x, concat[axis=0](w, v)))") == "reassociates");
}

TEST_CASE("larger intermediate values may overflow") {
  CHECK(classes("add(mul(x, z), mul(y, z)) => mul(add(x, y), z)") == "reassociates, may overflow");
  CHECK(classes("mul(add(x, y), z) => add(mul(x, z), mul(y, z))") == "reassociates, may overflow");
  CHECK(classes("matmul(scalar_mul(x, s), y) => scalar_mul(matmul(x, y), s)") == "reassociates, may overflow");
  CHECK(classes("mul(mul(x, y), z) => mul(x, mul(y, z))") == "reassociates, may overflow");
  CHECK(classes("add(add(x, y), z) => add(x, add(y, z))") == "reassociates, may overflow");
  CHECK(classes("matmul(matmul(x, y), z) => matmul(x, matmul(y, z))") == "reassociates, may overflow");
}

TEST_CASE("zero taps and zero blocks spread NaN") {
  CHECK(classes("conv[strides=s, pads=p](x, w) => conv[strides=s, pads=p + 1](x, enlarge[kernel=spatial(w) + 2](w))") ==
        "reassociates, spreads NaN");
  // The rows of each product are multiplied by the zeros beside the other.
  CHECK(float_class(rule("matmul(x, y), matmul(z, w) => matmul(concat[axis=1](x, z), concat[axis=0](y, sub(w, w))), "
                         "matmul(concat[axis=1](x, z), concat[axis=0](sub(y, y), w))\n"
                         "  where rank(x) = 2, shape(x) = shape(z), shape(y) = shape(w)"))
            .spreads_nan);
  CHECK(float_class(rule("add(mul(x, y), z) => add(mul(x, y), add(z, mul(x, sub(x, x))))")).spreads_nan == false);
  CHECK(float_class(rule("slice[axis=0, begin=0, end=1](x) => add(slice[axis=0, begin=0, end=1](x), "
                         "reduce_sum[axes=[0]](sub(x, x)))"))
            .spreads_nan);
}

TEST_CASE("a mode admits what its name says") {
  const Rule exact = rule("relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))");
  const Rule merged = rule(
      "matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))\n"
      "  where rank(x) = 2, rank(y) = 2, rank(z) = 2");
  const Rule grows = rule("add(mul(x, z), mul(y, z)) => mul(add(x, y), z)");
  const Rule spreads =
      rule("conv[strides=s, pads=p](x, w) => conv[strides=s, pads=p + 1](x, enlarge[kernel=spatial(w) + 2](w))");
  const Rule early = rule("exp(sub(x, y)) => div(exp(x), exp(y))");
  CHECK(float_class(early).overflows_early);
  CHECK_FALSE(float_class(grows).overflows_early);
  const auto admitted = [&](FloatMode mode, bool in_float16) {
    std::string text;
    for (const Rule* one : {&exact, &merged, &grows, &spreads, &early})
      text += is_admitted(*one, mode, in_float16) ? '1' : '0';
    return text;
  };
  CHECK(admitted(FloatMode::strict, false) == "10000");
  CHECK(admitted(FloatMode::strict, true) == "10000");
  CHECK(admitted(FloatMode::usual, false) == "11110");
  CHECK(admitted(FloatMode::usual, true) == "11010");
  CHECK(admitted(FloatMode::fast, false) == "11111");
  CHECK(admitted(FloatMode::fast, true) == "11111");
}

TEST_CASE("modes have names") {
  for (const FloatMode mode : {FloatMode::strict, FloatMode::usual, FloatMode::fast})
    CHECK(float_mode_named(rules::name_of(mode)) == mode);
  CHECK_FALSE(float_mode_named("Strict"));
  CHECK_FALSE(float_mode_named(""));
}

TEST_CASE("the quick classification agrees with the full one, and every shipped rule has a class") {
  std::size_t exact = 0, overflow = 0, spread = 0, all = 0;
  for (const char* file : {"rules/taso.rules", "rules/networks.rules"})
    for (const Rule& one : parse_rules(Source::read((source_folder() / file).string())).rules()) {
      const FloatClass found = float_class(one);
      INFO(one.name << ": " << rules::text_of(found));
      CHECK(is_admitted(one, FloatMode::usual, false) == !found.overflows_early);
      CHECK(is_admitted(one, FloatMode::usual, true) == !found.may_overflow);
      CHECK(is_admitted(one, FloatMode::strict, false) == found.is_exact);
      CHECK_FALSE((found.is_exact && found.spreads_nan));
      CHECK(float_class_of(digit_of(found)) == found);
      // With all faults, nothing was evaluated.
      CHECK_FALSE(found == FloatClass{});
      ++all;
      exact += found.is_exact ? 1 : 0;
      overflow += found.may_overflow ? 1 : 0;
      spread += found.spreads_nan ? 1 : 0;
    }
  CHECK(exact > 0);
  CHECK(overflow > 0);
  CHECK(spread > 0);
  CHECK(exact + overflow < all);
}

}  // namespace taso::test
