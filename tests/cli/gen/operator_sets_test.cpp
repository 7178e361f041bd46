#include <algorithm>

#include "cli/console/exit_code.h"
#include "cli/gen/operator_sets.h"
#include "generator/enumeration/family.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace taso::test {

using namespace cli;

namespace {

using Names = std::vector<std::string>;

std::vector<OperatorSet> parse(const std::string& text) {
  return parse_operator_sets(Source("some.sets", "taso operator sets 1\n" + text));
}

std::vector<OperatorSet> shipped() { return read_operator_sets(source_folder() / "rules/operators.sets"); }

TEST_CASE("a set has the operators that its lines name") {
  const auto sets =
      parse("\n# Sums\n# of things\nsums: add, sub\n\n# apart\n\nmore: sums relu,  # a comment\n  tanh\n");
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].name == "sums");
  CHECK(sets[0].about == "Sums of things");
  CHECK(sets[0].operators == Names{"add", "sub"});
  CHECK(sets[1].about.empty());
  CHECK(sets[1].operators == Names{"add", "sub", "relu", "tanh"});
  CHECK(parse("every: all")[0].operators == generator::schema_names());
  CHECK(parse("").empty());
}

TEST_CASE("mistakes in a file of sets are reported at their place") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_operator_sets(Source("some.sets", text));
    } catch (const PlacedError& error) {
      return error.what();
    }
    return "nothing is wrong";
  };
  const std::string head = "taso operator sets 1\n";
  CHECK(message("").starts_with("some.sets:1:1: the first line"));
  CHECK(message("taso operator sets 2\n").starts_with("some.sets:1:1: "));
  CHECK(message(head + "s: add, matmull\n").starts_with("some.sets:2:9: there is no operator"));
  CHECK(message(head + "s: add, matmull\n").find("did you mean 'matmul'?") != std::string::npos);
  CHECK(message(head + "s: s\n").starts_with("some.sets:2:4: the set 's' cannot contain itself"));
  CHECK(message(head + "zzzzzzzz: zzzzzzzy\n").find("did you mean") == std::string::npos);
  CHECK(message(head + "s:\n").starts_with("some.sets:2:1: the set 's' is empty"));
  CHECK(message(head + "s: # none\n\nt: add\n").starts_with("some.sets:2:1: the set 's' is empty"));
  CHECK(message(head + "s: later\nlater: add\n").starts_with("some.sets:2:4: "));
  CHECK(message(head + "s add\n").starts_with("some.sets:2:3: expected a colon"));
  CHECK(message(head + "s: add\ns: relu\n").starts_with("some.sets:3:1: the set 's' already exists"));
  CHECK(message(head + "add: relu\n").starts_with("some.sets:2:1: 'add' cannot be the name"));
  CHECK(message(head + "all: relu\n").starts_with("some.sets:2:1: 'all' cannot be the name"));
  CHECK(message(head + "  add\n").starts_with("some.sets:2:3: a set begins"));
  CHECK(message(head + "s: add, ?\n").starts_with("some.sets:2:9: "));
}

TEST_CASE("operators are chosen by set and by name") {
  const auto sets = shipped();
  CHECK(chosen_operators("relu,add", sets) == Names{"add", "relu"});
  CHECK(chosen_operators("add, add", sets) == Names{"add"});
  const Names small = chosen_operators("small", sets), more = chosen_operators("small,tanh", sets);
  CHECK(more.size() == small.size() + 1);
  for (const char* bad : {"", "add,", "smal", "add;relu"}) CHECK_THROWS_AS(chosen_operators(bad, sets), UsageError);
}

TEST_CASE("the shipped sets have the operators that they describe") {
  const auto sets = shipped();
  CHECK(chosen_operators("full", sets) == generator::schema_names());
  Names taso = generator::taso_schemas(), here = chosen_operators("taso", sets);
  std::sort(taso.begin(), taso.end());
  std::sort(here.begin(), here.end());
  CHECK(here == taso);
  for (const OperatorSet& set : sets) CHECK_FALSE(set.about.empty());
  const std::string text = describe_operators(sets);
  for (const std::string& name : generator::schema_names()) CHECK(text.find("  " + name + " ") != std::string::npos);
}

}  // namespace
}  // namespace taso::test
