#include "cli/details/conditions.h"

#include <string>
#include <vector>

#include "tests/catch.h"

namespace taso::test {

using cli::sort_conditions;

namespace {

using Texts = std::vector<std::string>;

TEST_CASE("conditions that say something of the model are told", "[details]") {
  const Texts telling{"x.1 = y.0: 768 = 768", "s.0 = t.0: batch = batch", "divides(g, x.1): divides(4, 64)",
                      "x.0 >= 1: 2*batch >= 1"};
  const auto sorted = sort_conditions(telling);
  CHECK(sorted.telling == telling);
  CHECK(sorted.plain.empty());
}

TEST_CASE("conditions that hold for everybody to see are only counted", "[details]") {
  const auto sorted = sort_conditions({"g = 1: 1 = 1", "p.0 = q.0: 0 = 0", "y.1 >= 1: 4 >= 1", "a != 3: 2 != 3"});
  CHECK(sorted.telling.empty());
  CHECK(sorted.plain.size() == 4);
}

TEST_CASE("what was said is not said again", "[details]") {
  const auto sorted = sort_conditions(
      {"x.1 = y.0: 768 = 768", "x.1 = y.0: 768 = 768", "x.1 = z.0: 768 = 768", "g = 1: 1 = 1", "g = 1: 1 = 1"});
  CHECK(sorted.telling == Texts{"x.1 = y.0: 768 = 768"});
  CHECK(sorted.plain == Texts{"x.1 = z.0: 768 = 768", "g = 1: 1 = 1"});
}

}  // namespace
}  // namespace taso::test
