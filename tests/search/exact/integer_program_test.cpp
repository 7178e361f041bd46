// Integer programs: the solver is a process of its own, which ends when it is asked to.
#include "search/exact/integer_program.h"

#include <sys/wait.h>

#include <cmath>
#include <random>

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

TEST_CASE("a program that takes very long ends while it is solved, and leaves no process") {
  if (!search::has_cbc()) return;
  search::IntegerProgram program;  // market split: which half of the customers has half of each demand?
  std::mt19937 random(1);
  constexpr std::size_t customers = 60, products = 7;
  std::vector<search::IntegerProgram::Variable> chosen;
  for (std::size_t i = 0; i < customers; ++i) chosen.push_back(program.add(0));
  for (std::size_t product = 0; product < products; ++product) {
    search::IntegerProgram::Terms terms;
    double sum = 0;
    for (const auto variable : chosen) {
      const double demand = static_cast<double>(random() % 100);
      terms.emplace_back(variable, demand);
      sum += demand;
    }
    const auto over = program.add(1, false), under = program.add(1, false);
    terms.emplace_back(over, -sum);
    terms.emplace_back(under, sum);
    program.add_row(terms, std::floor(sum / 2), std::floor(sum / 2));
  }
  int asked = 0;
  const auto ended = program.solve(1'000'000'000, {}, [&] { return ++asked > 5; });
  CHECK(ended.end == search::IntegerProgram::Solution::End::ended);
  CHECK(asked == 6);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

}  // namespace taso::test
