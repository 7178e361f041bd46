#include "runtime/pricing/similar_choices.h"

#include "runtime/pricing/price_store.h"
#include "tests/catch.h"

namespace taso::test {

namespace {

const std::string machine = "One GPU";

std::string convolution(int batch, int filters, const std::string& stride = "1") {
  const std::string rows = std::to_string(batch);
  return "convolution tf32: float32[" + rows + ",64,14,14]last *float32[" + std::to_string(filters) +
         ",64,1,1]last -> float32[" + rows + "," + std::to_string(filters) + ",14,14]last: conv[strides=[" + stride +
         "]](0,1) relu(2)";
}

}  // namespace

TEST_CASE("the choice of the most similar convolution is found") {
  cost::PriceDatabase prices;
  prices.set(machine, convolution(1, 64), {1000, 0, true, "tensor small: own"});
  prices.set(machine, convolution(16, 64), {1000, 0, true, "tensor large: own"});
  prices.set(machine, convolution(4, 64), {1000, 0, true, "fused: engine 3"});
  prices.set(machine, "rows fp32: float32[4,4] -> float32[4,4]: softmax(0)", {1000, 0, true, "own: own"});
  const pricing::SimilarChoices similar(prices, machine);
  const std::vector<std::string> lowerings{"tensor small", "tensor large", "fused"};
  CHECK(similar.find(convolution(2, 64), lowerings) == "tensor small: own");
  CHECK(similar.find(convolution(8, 64), lowerings) == "tensor large: own");
  CHECK(similar.find(convolution(12, 128), lowerings) == "tensor large: own");
  CHECK(similar.find(convolution(2, 64, "2"), lowerings) == "tensor small: own");

  SECTION("only among the given lowerings") {
    CHECK(similar.find(convolution(2, 64), std::vector<std::string>{"tensor large"}) == "tensor large: own");
    CHECK(similar.find(convolution(2, 64), std::vector<std::string>{"fused"}).empty());
  }
  SECTION("nothing for other types, kinds and machines, and for no text of a call") {
    CHECK(similar.find("matmul tf32: float32[4,4] *float32[4,4] -> float32[4,4]: matmul(0,1)", lowerings).empty());
    CHECK(
        similar.find("convolution tf32: float16[1,64] *float16[64,64] -> float16[1]: conv[](0,1)", lowerings).empty());
    CHECK(similar.find("rows fp32: float32[4,4] -> float32[4,4]: softmax(0)", std::vector<std::string>{"own"}).empty());
    for (const char* text : {"", "matmul ", "matmul tf32: ", "matmul tf32: [ -> ]: ", "convolution tf32: a[1] b[x] -> ",
                             "convolution tf32: a[1] b[1] -> c[1]: conv["})
      CHECK(similar.find(text, lowerings).empty());
    CHECK(pricing::SimilarChoices(prices, "Another GPU").find(convolution(1, 64), lowerings).empty());
  }
}

TEST_CASE("shipped prices have a similar convolution for other batches") {
  const pricing::PriceStore store(std::nullopt, pricing::PriceStore::of_plans, false);
  const pricing::SimilarChoices similar(store.all(), store.shipped_machine());
  std::vector<std::string> lowerings;
  for (const std::string& call : store.all().calls(store.shipped_machine())) {
    const std::string& choice = store.all().find(store.shipped_machine(), call)->choice;
    if (choice.ends_with(": own")) lowerings.push_back(choice.substr(0, choice.size() - 5));
  }
  const std::string call =
      "convolution tf32: float32[3,256,14,14]last *float32[256,256,3,3]last *float32[256] -> float32[3,256,14,14]last: "
      "conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](0,1,2) relu(3)";
  CHECK(similar.find(call, lowerings).starts_with("tensor "));
}

}  // namespace taso::test
