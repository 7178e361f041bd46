#include "ops/text/spelling.h"

#include <string>
#include <vector>

#include "tests/catch.h"

namespace taso::test {
namespace {

TEST_CASE("the suggested name is the nearest one, or none") {
  const std::vector<std::string> known = {"relu-twice", "shared-left-factor", "shared-left-factors", "add",
                                          std::string(80, 'x') + "-long"};
  const auto meant = [&](const std::string& name) { return did_you_mean(name, known); };
  CHECK(meant("relu-twcie") == "; did you mean 'relu-twice'?");
  CHECK(meant("shared-left-facto") == "; did you mean 'shared-left-factor'?");
  CHECK(meant("shared_left_factors") == "; did you mean 'shared-left-factors'?");
  CHECK(meant("add") == "; did you mean 'add'?");
  CHECK(meant(std::string(80, 'x') + "-lung") ==
        "; did you mean '" + known.back() + "'?");  // a name like those of generated rules
  CHECK(meant("sub").empty());
  CHECK(meant("").empty());
  CHECK(meant("something-else").empty());
  CHECK(meant(std::string(100'000, 'a')).empty());
  CHECK(did_you_mean("add", {}).empty());
}

TEST_CASE("a part of a name stands for the few names that have it") {
  const std::vector<std::string> known = {"bert_base", "bert_large", "resnet18", "resnet50", "resnet101", "csrnet"};
  CHECK(did_you_mean("bert", known) == "; did you mean 'bert_base' or 'bert_large'?");
  CHECK(did_you_mean("large", known) == "; did you mean 'bert_large'?");
  CHECK(did_you_mean("net", known).empty());  // too many
  CHECK(did_you_mean("be", known).empty());
}

TEST_CASE("a swap of neighbours is one edit") {
  CHECK(edit_distance("relu", "rleu") == 1);
  CHECK(edit_distance("", "add") == 3);
  CHECK(edit_distance("add", "add") == 0);
}

}  // namespace
}  // namespace taso::test
