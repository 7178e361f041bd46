#include "ops/support/sha256.h"

#include <fmt/format.h>

namespace taso::ops {
namespace {

void absorb(Sha256State& state, std::string_view blocks) {
  static const AbsorbBlocks fast = absorb_by_instructions();
  (fast != nullptr ? fast : absorb_plainly)(state, blocks.data(), blocks.size() / sha256_block);
}

}  // namespace

void Sha256::add(std::string_view bytes) {
  size_ += bytes.size();
  if (!rest_.empty()) {
    const std::string_view head = bytes.substr(0, sha256_block - rest_.size());
    rest_ += head;
    bytes.remove_prefix(head.size());
    if (rest_.size() < sha256_block) return;
    absorb(state_, rest_);
    rest_.clear();
  }
  const std::string_view whole = bytes.substr(0, bytes.size() / sha256_block * sha256_block);
  absorb(state_, whole);
  rest_ = bytes.substr(whole.size());
}

std::string Sha256::digest() {
  // The padding: a set bit, zeros, and the length in bits.
  const std::uint64_t bits = size_ * 8;
  std::string tail(1, '\x80');
  while ((size_ + tail.size()) % sha256_block != sha256_block - 8) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>((bits >> shift) & 0xffu);
  add(tail);
  std::string text;
  for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace taso::ops
