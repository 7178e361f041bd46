#include "runtime/pricing/price_store.h"

#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

TEST_CASE("prices of a GPU with other versions of its libraries can be used, and are not kept") {
  const TemporaryFolder folder;
  const auto file = folder / "some.prices";
  pricing::PriceStore store(file, pricing::PriceStore::none);
  store.add("One GPU, driver 1", "a call", {1000, 0, true, "a choice"});
  store.save();
  CHECK(store.adopt("Another GPU, driver 2", "Another GPU").empty());
  CHECK(store.adopt("One GP, driver 2", "One GP").empty());
  CHECK(store.adopt("One GPU, driver 2", "One GPU") == "One GPU, driver 1");
  REQUIRE(store.all().find("One GPU, driver 2", "a call") != nullptr);
  CHECK(store.all().find("One GPU, driver 2", "a call")->choice == "a choice");
  store.add("One GPU, driver 3", "another call", {1000, 0, true, "a choice"});
  store.save();
  CHECK(pricing::PriceStore(file, pricing::PriceStore::none).all().machines() ==
        std::vector<std::string>{"One GPU, driver 1", "One GPU, driver 3"});
}

}  // namespace taso::test
