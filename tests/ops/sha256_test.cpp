#include "ops/support/sha256.h"

#include "ops/core/random.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.digest();
}

}  // namespace

TEST_CASE("SHA-256 agrees with its standard") {
  CHECK(hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 does not depend on how its input is split") {
  Random random(1);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(random.below(256));
  const std::string whole = hash_of(text);
  for (int trial = 0; trial < 50; ++trial) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = random.below(200);
      hash.add(std::string_view(text).substr(at, size));
      at += size;
    }
    CHECK(hash.digest() == whole);
  }
}

TEST_CASE("the processor's instructions for SHA-256 give the same as plain arithmetic") {
  const AbsorbBlocks fast = absorb_by_instructions();
  if (fast == nullptr) return;  // nothing to compare on this machine
  Random random(2);
  for (std::size_t count = 0; count < 40; ++count) {
    std::string blocks(count * sha256_block, '\0');
    for (char& byte : blocks) byte = static_cast<char>(random.below(256));
    Sha256State expected{};
    for (auto& word : expected) word = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 32));
    Sha256State actual = expected;
    absorb_plainly(expected, blocks.data(), count);
    fast(actual, blocks.data(), count);
    CHECK(actual == expected);
  }
}

}  // namespace taso::test
