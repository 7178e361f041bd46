#include "runtime/onnxruntime/message.h"

#include <bit>

namespace taso::onnxruntime {

void Message::real(int field, float value) {
  key(field, 5);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
}

void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

}  // namespace taso::onnxruntime
