#include "verifier/refutation/rounded.h"

#include "ops/core/random.h"
#include "tests/catch.h"

namespace taso::test {

using namespace verifier;

namespace {

using M = Math<Rounded>;

Rounded number(double value) { return {value, 0}; }

bool covers(Rounded a, long double exact) {
  return std::abs(static_cast<long double>(a.value) - exact) <= static_cast<long double>(a.error);
}

}  // namespace

TEST_CASE("small whole numbers are exact") {
  const Rounded a = number(3) * number(-4) + number(5);
  CHECK(a.value == -7);
  CHECK(a.error == 0);
  CHECK(M::divide(number(6), number(3)).error == 0);
  CHECK(M::divide(number(1), number(3)).error > 0);
}

TEST_CASE("the error bound covers rounding") {
  const Rounded large = number(1e17);
  CHECK(covers((large + number(1)) - large, 1));
  CHECK_FALSE(differ((large + number(1)) - large, number(1)));
  CHECK(covers(M::exp(M::divide(number(1), number(3))), std::exp(1.0L / 3)));
  CHECK(covers(M::sqrt(number(2)) * M::sqrt(number(2)), 2));
  CHECK(covers(M::pow(number(2), M::divide(number(1), number(3))), std::pow(2.0L, 1.0L / 3)));
  CHECK(covers(M::erf(M::divide(number(1), number(3))), std::erf(1.0L / 3)));
  CHECK(covers(M::tanh(M::divide(number(-2), number(3))), std::tanh(-2.0L / 3)));
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    // ((a / b) * c - d) / e in two precisions; on machines without a wider one the check is weaker, not wrong.
    double n[5];
    for (double& value : n) value = static_cast<double>(random.between(1, 9)) * (random.chance(0.5) ? 1 : -1);
    const Rounded rounded =
        M::divide(M::divide(number(n[0]), number(n[1])) * number(n[2]) - number(n[3]), number(n[4]));
    const long double exact = (static_cast<long double>(n[0]) / n[1] * n[2] - n[3]) / n[4];
    CHECK(covers(rounded, exact));
    CHECK(rounded.error < 1e-12);
  }
}

TEST_CASE("an unknown number differs from nothing") {
  const Rounded nothing = M::divide(number(1), number(0));
  CHECK_FALSE(nothing.is_known());
  CHECK_FALSE(differ(nothing, number(1)));
  CHECK_FALSE(M::sqrt(number(-1)).is_known());
  CHECK_FALSE(is_worse(nothing, number(1)));
  CHECK_FALSE(M::exp(number(1000)).is_known());
  CHECK_FALSE((M::lowest() - M::lowest()).is_known());
  CHECK_FALSE(M::maximum(nothing, number(1)).is_known());
  CHECK(differ(M::lowest(), number(0)));
  CHECK_FALSE(differ(M::lowest(), M::lowest()));
  CHECK(differ(number(1), number(2)));
  CHECK_FALSE(differ(number(1), number(1 + 1e-9)));
}

TEST_CASE("undefined is worse than a number, and spreads") {
  const Rounded undefined = M::divide(number(1), number(0)), unknown = M::exp(number(1000));
  CHECK(undefined.is_undefined());
  CHECK(M::sqrt(number(-1)).is_undefined());
  CHECK(M::pow(number(0), number(-1)).is_undefined());
  CHECK(M::pow(number(-2), number(0.5)).is_undefined());
  CHECK_FALSE(M::pow(number(-2), number(3)).is_undefined());
  CHECK_FALSE(M::pow(number(0), number(0)).is_undefined());
  CHECK_FALSE(unknown.is_undefined());
  CHECK(is_worse(number(0), undefined));
  CHECK_FALSE(is_worse(number(0), unknown));
  CHECK_FALSE(is_worse(undefined, undefined));
  CHECK_FALSE(is_worse(unknown, undefined));
  for (const Rounded& other : {number(0), number(2), unknown, undefined}) {
    CHECK((undefined + other).is_undefined());
    CHECK((other - undefined).is_undefined());
    CHECK((other * undefined).is_undefined());
    CHECK(M::divide(undefined, other).is_undefined());
    CHECK(M::maximum(other, undefined).is_undefined());
    CHECK(M::minimum(undefined, other).is_undefined());
    CHECK(M::pow(other, undefined).is_undefined());
  }
  CHECK(M::exp(undefined).is_undefined());
  CHECK(M::erf(undefined).is_undefined());
  CHECK(M::tanh(undefined).is_undefined());
  CHECK(M::sqrt(undefined).is_undefined());
  // A number that is zero or negative only by rounding is not surely so.
  const Rounded third = M::divide(number(1), number(3)), nearly_zero = third + third + third - number(1);
  CHECK_FALSE(M::divide(number(1), nearly_zero).is_undefined());
  CHECK_FALSE(M::sqrt(nearly_zero).is_undefined());
}

}  // namespace taso::test
