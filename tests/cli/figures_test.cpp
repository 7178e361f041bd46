#include "cli/bench/figures.h"

#include <vector>

#include "tests/catch.h"

using namespace taso;

namespace {

/// Runs that scatter by a thousandth.
std::vector<double> around(double middle) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) times.push_back(middle * (1 + 0.001 * (i % 11 - 5) / 5));
  return times;
}

}  // namespace

TEST_CASE("what differs by less than places in memory do is no difference, however little it scatters", "[figures]") {
  const Ratio same = ratio_of(around(100), around(99.2));
  CHECK(same.low > 1);
  CHECK_FALSE(same.is_faster());
  CHECK_FALSE(ratio_of(around(99.2), around(100)).is_slower());
  CHECK(ratio_of(around(100), around(98)).is_faster());
  CHECK(ratio_of(around(98), around(100)).is_slower());
}
