// Laws of dimensions, tested at random: the text form is canonical, and every operation is correct at every binding.
#include "ops/core/dim.h"

#include <map>
#include <random>

#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

using Binding = std::map<std::string, std::int64_t, std::less<>>;

std::int64_t at(const Dim& dim, const Binding& binding) {
  return dim.evaluate([&](std::string_view name) { return binding.find(name)->second; });
}

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  if (quotient * b > a) --quotient;
  return quotient;
}

struct Source {
  std::mt19937 random;
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
  }
  Binding binding() { return {{"N", pick(1, 9)}, {"H", pick(1, 9)}, {"W", pick(1, 9)}}; }
  Dim unknown() {
    const char* names[] = {"N", "H", "W"};
    return Dim::symbol(names[pick(0, 2)]);
  }
  Dim polynomial(int depth) {
    if (depth == 0) return pick(0, 1) ? unknown() : Dim(pick(-4, 4));
    switch (pick(0, 3)) {
      case 0: return polynomial(depth - 1) + polynomial(depth - 1);
      case 1: return polynomial(depth - 1) - polynomial(depth - 1);
      case 2: return polynomial(depth - 1) * polynomial(depth - 1);
      default: return floor_div(polynomial(depth - 1), pick(1, 4));
    }
  }
};

}  // namespace

TEST_CASE("dimensions form a ring with a canonical form") {
  Source source{std::mt19937(1)};
  for (int i = 0; i < 400; ++i) {
    const Dim a = source.polynomial(2), b = source.polynomial(2), c = source.polynomial(1);
    CAPTURE(a.text(), b.text(), c.text());
    CHECK(a + b == b + a);
    CHECK(a * b == b * a);
    CHECK((a + b) + c == a + (b + c));
    CHECK((a * b) * c == a * (b * c));
    CHECK(a * (b + c) == a * b + a * c);
    CHECK(a - a == Dim(0));
    CHECK((a - b) + b == a);
    CHECK(a * 1 == a);
    CHECK(a * 0 == Dim(0));
    CHECK((a + b).hash() == (b + a).hash());
    CHECK((a * b).text() == (b * a).text());
    CHECK((a == b) == (a.text() == b.text()));
  }
}

TEST_CASE("arithmetic on dimensions is arithmetic on their values") {
  Source source{std::mt19937(2)};
  for (int i = 0; i < 400; ++i) {
    const Dim a = source.polynomial(2), b = source.polynomial(2);
    const std::int64_t d = source.pick(1, 7);
    CAPTURE(a.text(), b.text(), d);
    for (int k = 0; k < 5; ++k) {
      const Binding binding = source.binding();
      const std::int64_t x = at(a, binding), y = at(b, binding);
      CHECK(at(a + b, binding) == x + y);
      CHECK(at(a - b, binding) == x - y);
      CHECK(at(a * b, binding) == x * y);
      CHECK(at(floor_div(a, d), binding) == floor_of(x, d));
      CHECK(at(ceil_div(a, d), binding) == -floor_of(-x, d));
    }
  }
}

TEST_CASE("division by an unknown rounds down too") {
  Source source{std::mt19937(3)};
  for (int i = 0; i < 200; ++i) {
    const Dim a = source.polynomial(2), b = source.unknown() * source.pick(1, 3) + source.pick(0, 2);
    CAPTURE(a.text(), b.text());
    const Dim quotient = floor_div(a, b);
    for (int k = 0; k < 5; ++k) {
      const Binding binding = source.binding();
      CHECK(at(quotient, binding) == floor_of(at(a, binding), at(b, binding)));
    }
  }
}

TEST_CASE("exact division undoes multiplication and never guesses") {
  Source source{std::mt19937(4)};
  for (int i = 0; i < 400; ++i) {
    const Dim a = source.polynomial(1), b = source.polynomial(1);
    CAPTURE(a.text(), b.text());
    if (b == Dim(0)) {
      CHECK_FALSE(exact_div(a, b));
      continue;
    }
    const auto back = exact_div(a * b, b);
    REQUIRE(back);
    CHECK(*back == a);
    if (const auto quotient = exact_div(a, b)) CHECK(*quotient * b == a);
  }
  const Dim n = Dim::symbol("N");
  CHECK_FALSE(exact_div(n, 2));
  CHECK_FALSE(exact_div(n + 1, n));
  CHECK(exact_div(n * 6, 3) == n * 2);
  CHECK(exact_div(n * n - 1, n + 1) == n - 1);
}

TEST_CASE("text, names and symbols") {
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H");
  CHECK(Dim(3).text() == "3");
  CHECK((n * 2 + 1).text() == "2*N + 1");
  CHECK((h - n).text() == "H - N");
  CHECK(floor_div(h + 1, 2).text() == "floor((H + 1)/2)");
  CHECK(floor_div(h * 2 + 1, 2) == h);
  CHECK(floor_div(h * 4 + 2, 2) == h * 2 + 1);
  CHECK((n * floor_div(h, 3) + n).symbols() == std::vector<std::string>{"H", "N"});
  const Dim odd = Dim::symbol("batch size\n\"x\"\\");
  CHECK(odd.symbols() == std::vector<std::string>{"batch size\n\"x\"\\"});
  CHECK(odd != Dim::symbol("batch size"));
  CHECK(n.known() == std::nullopt);
  CHECK(Dim(7).known() == 7);
}

TEST_CASE("overflow is refused") {
  const Dim big = std::numeric_limits<std::int64_t>::max();
  const Dim n = Dim::symbol("N");
  CHECK_THROWS_AS(big + 1, ShapeError);
  CHECK_THROWS_AS(big * 2, ShapeError);
  CHECK_THROWS_AS(Dim(std::numeric_limits<std::int64_t>::min()) - 1, ShapeError);
  CHECK_THROWS_AS(n * big * 2, ShapeError);
  CHECK_THROWS_AS(n * big + n, ShapeError);
  CHECK_THROWS_AS((n * n).evaluate([](std::string_view) { return std::int64_t{1} << 32; }), ShapeError);
  CHECK_THROWS_AS(floor_div(n, 0), ShapeError);
  CHECK_THROWS_AS(floor_div(n, -1), ShapeError);
  const Dim least = std::numeric_limits<std::int64_t>::min();
  CHECK_THROWS_AS(exact_div(least, -1), ShapeError);
  CHECK_THROWS_AS(exact_div(n * least, -1), ShapeError);
  CHECK_THROWS_AS(exact_div(n * least, Dim(-1) * n), ShapeError);
  CHECK(exact_div(n * -6, -3) == n * 2);
}

TEST_CASE("statements that hold for every value of the unknowns") {
  const Dim n = Dim::symbol("N"), h = Dim::symbol("H");
  CHECK(surely_at_least(n, 1));
  CHECK_FALSE(surely_at_least(n, 2));
  CHECK(surely_at_least(n * h + n, 2));
  CHECK_FALSE(surely_at_least(n - h, 0));
  CHECK(surely_non_negative(n - 1));
  CHECK_FALSE(surely_non_negative(n - 2));
  // The output of a convolution with stride 2 has a row even if the input has one; half of the input need not.
  CHECK(surely_at_least(floor_div(h - 1, 2) + 1, 1));
  CHECK_FALSE(surely_at_least(floor_div(h, 2), 1));
  CHECK(surely_non_negative(floor_div(h, 2)));
  CHECK_FALSE(surely_non_negative(floor_div(h, n) - 1));
  CHECK_FALSE(surely_non_negative(n * std::numeric_limits<std::int64_t>::max() - n * h));
}

TEST_CASE("a dimension is the sum of its terms") {
  const Dim n = Dim::symbol("N"), odd = Dim::symbol("not an identifier");
  const Dim dim = n * n * 2 - odd * floor_div(n + 1, 3) + 5;
  Dim sum = 0;
  for (const DimTerm& term : terms_of(dim)) {
    Dim product = term.coefficient;
    for (const DimFactor& factor : term.factors)
      product =
          product * (factor.name.empty() ? floor_div(factor.numerator, factor.denominator) : Dim::symbol(factor.name));
    sum = sum + product;
  }
  CHECK(sum == dim);
  REQUIRE(terms_of(dim).size() == 3);
  CHECK(terms_of(dim)[0].factors.size() == 2);
  CHECK(terms_of(dim)[2].coefficient == 5);
  CHECK(terms_of(0).empty());
}

}  // namespace taso::test
