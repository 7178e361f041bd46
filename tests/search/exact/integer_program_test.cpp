// Integer programs: the solver is a process of its own, which ends when it is asked to.
#include "search/exact/integer_program.h"

#include "tests/catch.h"

namespace taso::test {

TEST_CASE("an integer program ends when it is asked to") {
  if (!search::has_cbc()) return;
  using End = search::IntegerProgram::Solution::End;
  search::IntegerProgram program;
  const auto a = program.add(2), b = program.add(-3);
  program.add_row({{a, 1}, {b, 1}}, 1);
  const auto ended = program.solve(10, {}, [] { return true; });
  CHECK(ended.end == End::ended);
  CHECK(ended.values.empty());
  CHECK(ended.bound <= -3);  // what it costs at least
  const auto solved = program.solve(10, {}, [] { return false; });
  CHECK(solved.end == End::solved);
  CHECK(solved.values == std::vector<double>{0, 1});
}

}  // namespace taso::test
