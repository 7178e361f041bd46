// Any bytes as a .npy file (--input-data): refused with InputError, or read.
#include "ops/support/npy.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const taso::Array array = taso::ops::parse_npy(taso::test::text_of_bytes(data, size));
    taso::check(std::ssize(array.doubles()) == array.size(), "every element is read");
  } catch (const taso::InputError&) {
  }
  return 0;
}
