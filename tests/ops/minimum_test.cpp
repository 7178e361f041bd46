// The smaller of two dimensions: a canonical form, known bounds, and a number if both are numbers.
#include "ops/core/minimum.h"

#include <map>

#include "ops/core/error.h"
#include "ops/text/literal.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

std::int64_t value_at(const Dim& dim, const std::map<std::string, std::int64_t, std::less<>>& numbers) {
  return dim.evaluate([&](std::string_view name) { return numbers.find(name)->second; });
}

}  // namespace

TEST_CASE("the smaller of two dimensions") {
  const Dim n = Dim::symbol("N"), t = Dim::symbol("T");
  CHECK(minimum(n, n + 1) == n);
  CHECK(minimum(512, 7) == Dim(7));
  CHECK(minimum(512, 1) == Dim(1));
  const Dim smaller = minimum(n, 512);
  CHECK(smaller == minimum(512, n));
  CHECK(smaller.text() == "min(512, N)");
  CHECK(parse_dim(smaller.text()) == smaller);
  CHECK(smaller != Dim::symbol("min(512, N)"));  // a model may name a dimension like this
  CHECK(parse_dim("min") == Dim::symbol("min"));
  CHECK_THROWS_AS(parse_dim("min(N - 5, T - 5)"), InputError);
  CHECK(smaller.symbols() == std::vector<std::string>{"N"});
  CHECK(value_at(smaller, {{"N", 3}}) == 3);
  CHECK(value_at(smaller, {{"N", 3000}}) == 512);
  CHECK(substitute(smaller, [](std::string_view) { return std::optional(Dim(600)); }) == Dim(512));
  // It is 1 or more, and at most either operand.
  CHECK(surely_at_least(smaller, 1));
  CHECK(surely_at_least(n, smaller));
  CHECK(surely_at_least(512, smaller));
  CHECK(surely_at_least(n * t, smaller * t));
  CHECK_FALSE(surely_at_least(smaller, 2));
  CHECK_FALSE(surely_at_least(smaller, n));
  CHECK_FALSE(surely_at_least(t, smaller));
  // A window that begins at T has at most the wanted length.
  const Dim window = minimum(n, Dim(512) - minimum(t, 512));
  CHECK(surely_at_least(n, window));
  CHECK_FALSE(surely_at_least(window, n));
  CHECK(value_at(window, {{"N", 5}, {"T", 3}}) == 5);
  CHECK(value_at(window, {{"N", 5}, {"T", 510}}) == 2);
}

}  // namespace taso::test
