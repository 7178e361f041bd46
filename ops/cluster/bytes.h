// Numbers and lists of them as bytes, to be sent to another process or kept in a file.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/core/error.h"

namespace taso::ops {

template <class T>
concept PlainBytes = std::is_trivially_copyable_v<T>;

template <PlainBytes T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <PlainBytes T>
void put_list(std::string& bytes, std::span<const T> values) {
  put(bytes, static_cast<std::uint64_t>(values.size()));
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

inline void put_text(std::string& bytes, std::string_view text) {
  put_list(bytes, std::span(text.data(), text.size()));
}

/// Reads what was put, in the same order. Throws InputError if there is less.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <PlainBytes T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <PlainBytes T>
  void get_list(std::vector<T>& values) {
    const std::uint64_t count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail();
    const std::size_t before = values.size();
    values.resize(before + count);
    if (count > 0) std::memcpy(values.data() + before, take(count * sizeof(T)), count * sizeof(T));
  }
  std::string get_text() {
    const std::uint64_t size = get<std::uint64_t>();
    if (size > rest_.size()) fail();
    return {take(size), size};
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  [[noreturn]] static void fail() { throw InputError("the data end too early"); }
  const char* take(std::size_t size) {
    if (size > rest_.size()) fail();
    const char* const begin = rest_.data();
    rest_.remove_prefix(size);
    return begin;
  }
  std::string_view rest_;
};

}  // namespace taso::ops
