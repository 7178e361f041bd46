#include "ops/text/units.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"

namespace taso::test {

TEST_CASE("bytes have three digits and a unit", "[units]") {
  const std::vector<std::pair<double, std::string>> cases{{0, "0 bytes"},           {1, "1 byte"},
                                                          {999, "999 bytes"},       {1000, "0.98 KiB"},
                                                          {1024, "1.00 KiB"},       {16.04e6, "15.3 MiB"},
                                                          {123e6, "117 MiB"},       {2.5 * (1 << 30), "2.50 GiB"},
                                                          {1e15, "909 TiB"},        {9.996 * 1024, "10.0 KiB"},
                                                          {99.96 * 1024, "100 KiB"}};
  for (const auto& [bytes, text] : cases) CHECK(text_of_bytes(bytes) == text);
}

}  // namespace taso::test
