// The enumeration finds the same, however it has to work.
#include "generator/enumeration/enumerate.h"

#include "generator/selection/select.h"
#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

Family family_named(const std::string& name) {
  for (const Family& family : families(taso_schemas()))
    if (family.name == name) return family;
  throw InputError("no such family");
}

Enumeration run(const Family& family, std::size_t operators, unsigned jobs, std::size_t memory) {
  EnumerateOptions options;
  options.max_operators = operators;
  options.memory_limit = memory;
  options.jobs = jobs;
  return enumerate(family, options);
}

constexpr std::size_t plenty = std::size_t{1} << 30;

}  // namespace

TEST_CASE("an enumeration with temporary files finds the same") {
  const Family family = family_named("matrices");
  const Enumeration whole = run(family, 3, 2, plenty);
  CHECK(whole.spilled == 0);
  const Enumeration cramped = run(family, 3, 2, std::size_t{10} << 20);
  CHECK(cramped.spilled > 0);
  CHECK(cramped.values == whole.values);
  CHECK(cramped.evaluations == whole.evaluations);
  CHECK(cramped.found == whole.found);
}

TEST_CASE("an enumeration finds the same with any number of jobs", "[threads]") {
  for (const char* name : {"matrices", "images"}) {
    const Family family = family_named(name);
    const Enumeration one = run(family, 3, 1, plenty), four = run(family, 3, 4, plenty);
    CHECK(one.found == four.found);
    CHECK(one.graphs == four.graphs);
    CHECK(one.table.size() == four.table.size());
  }
}

TEST_CASE("an enumeration without enough memory is an error") {
  CHECK_THROWS_AS(run(family_named("matrices"), 4, 2, std::size_t{8} << 20), EnvironmentError);
}

TEST_CASE("the selection of one size does not depend on larger ones") {
  const Family family = family_named("matrices");
  SelectOptions options;
  options.jobs = 2;
  const auto selected = [&](std::size_t operators) {
    std::vector<Equality> small;
    for (Equality& equality : select(family, run(family, operators, 2, plenty), options).equalities) {
      std::size_t left = 0, right = 0;
      for (const SmallTerm& term : equality.left) left += tree_size(term);
      right = tree_size(equality.right[0]);
      if (std::max(left, right) <= 2) small.push_back(std::move(equality));
    }
    return small;
  };
  const auto two = selected(2), three = selected(3);
  CHECK(two.size() > 10);
  REQUIRE(two.size() == three.size());
  for (std::size_t i = 0; i < two.size(); ++i) {
    CHECK(two[i].left == three[i].left);
    CHECK(two[i].right == three[i].right);
  }
}

}  // namespace taso::test
