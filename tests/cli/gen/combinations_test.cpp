#include "cli/gen/combinations.h"
#include "generator/enumeration/family.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

using Names = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("operators that only take results of others are unusable alone") {
  for (const char* name : {"split0", "split1", "stack_split0", "stack_split1", "stack_split2", "matrix_to_stack",
                           "enlarge", "enlarge5x5", "identity_kernel", "pooling_kernel", "image_ones"}) {
    INFO(name);
    CHECK(combinations_of({name}, 4).unusable == Names{name});
  }
  CHECK(combinations_of({"split0", "relu"}, 4).unusable == Names{"split0"});
  CHECK(combinations_of({"relu", "split0", "concat1"}, 4).unusable == Names{"split0"});
  CHECK(combinations_of({"concat0", "split0"}, 1).unusable == Names{"split0"});
  CHECK(combinations_of({"concat0", "split0"}, 2).unusable.empty());
  CHECK(combinations_of({"add", "pooling_kernel"}, 3).unusable == Names{"pooling_kernel"});
}

TEST_CASE("operators that share no family are apart") {
  CHECK(combinations_of({"sub", "relu", "add"}, 3).apart == Pairs{{"sub", "relu"}});
  CHECK(combinations_of({"add", "relu", "matmul"}, 3).apart.empty());
}

TEST_CASE("every operator is usable together with all others") {
  CHECK(combinations_of(generator::schema_names(), 4).unusable.empty());
}

}  // namespace
}  // namespace taso::test
