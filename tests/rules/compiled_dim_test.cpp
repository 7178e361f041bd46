#include "rules/instance/compiled_dim.h"

#include <limits>

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "tests/catch.h"

namespace taso::test {

using namespace rules;

namespace {

const std::vector<std::string> names{"a", "b.0", "c"};
const Places places{{"a", 0}, {"b.0", 1}, {"c", 2}};

Dim random_polynomial(Random& random, int depth) {
  if (depth == 0) return random.chance(0.4) ? Dim(random.between(-3, 5)) : Dim::symbol(random.pick(names));
  const Dim left = random_polynomial(random, depth - 1), right = random_polynomial(random, depth - 1);
  switch (random.below(4)) {
    case 0: return left + right;
    case 1: return left - right;
    case 2: return left * right;
    default: return right.is_static() && right.value() <= 0 ? left : floor_div(left, right);
  }
}

}  // namespace

TEST_CASE("a compiled dimension has the value of the dimension") {
  Random random(1);
  std::size_t undefined = 0;
  for (int round = 0; round < 3000; ++round) {
    const Dim dim = random_polynomial(random, 3);
    const CompiledDim compiled(dim, places);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < 3; ++i) values.push_back(random.between(0, 6));
    std::optional<std::int64_t> expected;
    try {
      expected = dim.evaluate([&](std::string_view name) { return values[places.find(name)->second]; });
    } catch (const ShapeError&) {
      ++undefined;
    }
    CAPTURE(dim.text());
    CHECK(compiled.evaluate(values) == expected);
  }
  CHECK(undefined > 100);  // quotients by 0 or less are among them
}

TEST_CASE("a compiled dimension that overflows has no value") {
  const Dim a = Dim::symbol("a");
  const std::vector<std::int64_t> large{std::numeric_limits<std::int64_t>::max() / 2, 0, 0};
  CHECK(CompiledDim(a * 2, places).evaluate(large) == large[0] * 2);
  CHECK_FALSE(CompiledDim(a * 3, places).evaluate(large));
  CHECK_FALSE(CompiledDim(a * a, places).evaluate(large));
  CHECK_FALSE(CompiledDim(floor_div(a * a, Dim::symbol("c") + 1), places).evaluate(large));
  CHECK(CompiledDim(7, {}).evaluate({}) == 7);
}

}  // namespace taso::test
