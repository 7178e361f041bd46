#include "cli/nearest_name.h"

#include "tests/catch.h"

namespace taso {
namespace {

TEST_CASE("the nearest name is the one that was meant, or none") {
  const std::vector<std::string_view> known = {"relu-twice", "shared-left-factor", "shared-left-factors", "add"};
  CHECK(nearest_name("relu-twcie", known) == "relu-twice");
  CHECK(nearest_name("shared-left-facto", known) == "shared-left-factor");
  CHECK(nearest_name("shared_left_factors", known) == "shared-left-factors");
  CHECK(nearest_name("add", known) == "add");
  CHECK(nearest_name("sub", known).empty());
  CHECK(nearest_name("", known).empty());
  CHECK(nearest_name("something-else", known).empty());
  CHECK(nearest_name(std::string(100'000, 'a'), known).empty());
  CHECK(nearest_name("add", {}).empty());
}

}  // namespace
}  // namespace taso
