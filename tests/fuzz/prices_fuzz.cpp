// Any bytes as a file of prices: refused with InputError, or read, merged, looked up, printed and read back the same.
#include "cost/pricing/price_database.h"
#include "runtime/pricing/similar_choices.h"
#include "tests/fuzz/bytes.h"

namespace {

using taso::cost::PriceDatabase;

void exercise(const PriceDatabase& prices) {
  const std::string text = prices.text();
  const auto parse = [](const std::string& printed) { return PriceDatabase::parse(printed, "printed"); };
  const PriceDatabase again = taso::test::read_back(text, parse);
  taso::check(again.text() == text, "printing what was parsed gives the same text");
  PriceDatabase merged = again;
  merged.merge(again);
  taso::check(merged.text() == text, "merging prices with themselves changes nothing");
  for (const std::string& machine : prices.machines()) {
    const taso::pricing::SimilarChoices similar(prices, machine);
    const std::string lowerings[] = {"tensor 32x32 split 1 stages 4", ""};
    for (const std::string& call : prices.calls(machine)) {
      taso::check(prices.find(machine, call) != nullptr, "a call that is listed is found");
      similar.find(call, lowerings);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    exercise(PriceDatabase::parse(taso::test::text_of_bytes(data, size), "fuzz"));
  } catch (const taso::InputError&) {
  }
  return 0;
}
