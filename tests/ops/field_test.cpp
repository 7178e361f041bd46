#include "ops/core/field.h"

#include <random>

#include "tests/catch.h"

using taso::Field;
using Math = taso::Math<Field>;

namespace {

Field draw(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0: return Field(static_cast<std::int64_t>(random() % 7) - 3);
    case 1: return Field::from_bits(Field::modulus - 1 - random() % 3);
    default: return Field::from_bits(random());
  }
}

}  // namespace

TEST_CASE("the field is a field") {
  std::mt19937_64 random(1);
  const Field zero(0), one(1);
  for (int i = 0; i < 2000; ++i) {
    const Field a = draw(random), b = draw(random), c = draw(random);
    CHECK(a + b == b + a);
    CHECK(a * b == b * a);
    CHECK((a + b) + c == a + (b + c));
    CHECK((a * b) * c == a * (b * c));
    CHECK(a * (b + c) == a * b + a * c);
    CHECK(a + zero == a);
    CHECK(a * one == a);
    CHECK(a - a == zero);
    CHECK((a - b) + b == a);
    CHECK(a.bits() < Field::modulus);
    if (b != zero) {
      CHECK(b * b.inverse() == one);
      CHECK(Math::divide(a, b) * b == a);
    }
  }
  CHECK(zero.inverse() == zero);
  CHECK(Field(-1) + one == zero);
  CHECK(Field::from_bits(Field::modulus) == zero);
  CHECK(Field(std::numeric_limits<std::int64_t>::min()) == zero - Field(4));  // 2^63 = 4 * 2^61 = 4
  CHECK(Field(std::numeric_limits<std::int64_t>::max()) == Field(3));
}

TEST_CASE("multiplication agrees with the schoolbook, modulo 2^61 - 1") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    const Field a = draw(random), b = draw(random);
    Field sum(0);  // doubling and adding
    for (int bit = 60; bit >= 0; --bit) {
      sum = sum + sum;
      if (b.bits() >> bit & 1) sum = sum + a;
    }
    CHECK(a * b == sum);
  }
}

TEST_CASE("constants are exact") {
  for (const double value : {0.0, 1.0, -1.0, 0.5, -0.75, 1e10, 3.0 / 1024, 0x1p-1000, 0x1p1000}) {
    CAPTURE(value);
    CHECK(Math::constant(value) + Math::constant(value) == Math::constant(2 * value));
    CHECK(Math::constant(value) * Math::constant(4) == Math::constant(4 * value));
    CHECK(Math::constant(value) + Math::constant(-value) == Field(0));
  }
  for (std::int64_t n = -1000; n <= 1000; ++n) CHECK(Math::constant(static_cast<double>(n)) == Field(n));
  CHECK(Math::divide(Field(1), Field(2)) == Math::constant(0.5));
  CHECK(Math::constant(INFINITY) != Math::constant(-INFINITY));
  CHECK(Math::sqrt_two() * Math::sqrt_two() == Field(2));
}

TEST_CASE("maximum and minimum keep the laws of a lattice") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const Field a = draw(random), b = draw(random), c = draw(random);
    CHECK(Math::maximum(a, a) == a);
    CHECK(Math::maximum(a, b) == Math::maximum(b, a));
    CHECK(Math::maximum(a, Math::maximum(b, c)) == Math::maximum(Math::maximum(a, b), c));
    CHECK(Math::maximum(a, Math::minimum(a, b)) == a);
    CHECK(Math::maximum(a, b) + Math::minimum(a, b) == a + b);
    CHECK(Math::maximum(a, Math::lowest()) == a);
  }
  CHECK(Math::maximum(Field(-3), Field(2)) == Field(2));
  CHECK(Math::minimum(Field(-3), Field(2)) == Field(-3));
}

TEST_CASE("the other functions are functions, and different ones") {
  const Field a(5), b(6);
  CHECK(Math::exp(a) == Math::exp(Field(5)));
  CHECK(Math::exp(a) != Math::exp(b));
  CHECK(Math::exp(a) != Math::tanh(a));
  CHECK(Math::erf(a) != Math::sqrt(a));
  CHECK(Math::pow(a, b) != Math::pow(b, a));
}
