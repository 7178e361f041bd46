// SHA-256, to identify rules and models. It is the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/support/sha256_blocks.h"

namespace taso::ops {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// The hash of all added bytes as 64 hexadecimal digits. Nothing can be added afterwards.
  std::string digest();

 private:
  Sha256State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint64_t size_ = 0;
  std::string rest_;  // less than a block
};

}  // namespace taso::ops
