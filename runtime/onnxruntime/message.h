// Writes protobuf messages, field by field. ONNX Runtime gives a provider a graph, not a model, and the provider has no
// protobuf library of its own: another one in the same process could get into its way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace taso::onnxruntime {

class Message {
 public:
  void number(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
  }
  void real(int field, float value);
  /// Text, bytes, or another message.
  void text(int field, std::string_view value) {
    announce(field, value.size());
    bytes_ += value;
  }
  void message(int field, const Message& value) { text(field, value.bytes_); }
  /// The start of a field of `size` bytes, which the caller appends.
  void announce(int field, std::size_t size) {
    key(field, 2);
    varint(size);
  }
  void append(std::string_view bytes) { bytes_ += bytes; }
  void reserve(std::size_t size) { bytes_.reserve(size); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, unsigned kind) { varint(static_cast<std::uint64_t>(field) << 3 | kind); }
  void varint(std::uint64_t value);

  std::string bytes_;
};

}  // namespace taso::onnxruntime
