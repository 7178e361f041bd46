// Reads protobuf's wire format, field by field, from bytes that nobody vouches for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace taso::rules {

/// Bytes of a message, and where they stand in their file.
struct WireBytes {
  std::string_view bytes;
  std::size_t offset = 0;  ///< in the file
};

/// One field of a message. Throws InputError where the kind is not what is asked for.
class WireField {
 public:
  std::uint32_t number = 0;
  std::size_t offset = 0;  ///< of its key, in the file

  /// A varint that fits 32 bits with sign; `what` names the field in errors.
  std::int32_t integer(std::string_view what) const;
  /// A message or string inside this one.
  WireBytes message(std::string_view what) const;

 private:
  friend class WireReader;
  std::uint32_t kind_ = 0;
  std::uint64_t varint_ = 0;
  WireBytes bytes_;
  std::string_view file_;
};

/// The fields of one message, in the order of the bytes. Those of no interest are skipped by not looking at them.
class WireReader {
 public:
  /// `file` is what errors call the file; it must outlive the reader and its fields.
  WireReader(std::string_view file, WireBytes message) : file_(file), message_(message) {}

  /// The next field; nothing at the end of the message. Throws InputError.
  std::optional<WireField> next();

 private:
  std::uint64_t varint(std::string_view what);
  std::string_view take(std::uint64_t count, std::string_view what);
  std::size_t offset() const { return message_.offset + at_; }
  [[noreturn]] void fail(std::size_t where, const std::string& message) const;

  std::string_view file_;
  WireBytes message_;
  std::size_t at_ = 0;
};

/// Throws InputError("file: byte 12: message").
[[noreturn]] void fail_at_byte(std::string_view file, std::size_t offset, const std::string& message);

}  // namespace taso::rules
