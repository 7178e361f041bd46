#include "rules/taso/wire.h"

#include <limits>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

// How a field's bytes are laid out: the low three bits of its key.
constexpr std::uint32_t varint_kind = 0, eight_bytes_kind = 1, counted_kind = 2, four_bytes_kind = 5;

}  // namespace

void fail_at_byte(std::string_view file, std::size_t offset, const std::string& message) {
  throw InputError(fmt::format("{}: byte {}: {}", file, offset, message));
}

std::int32_t WireField::integer(std::string_view what) const {
  if (kind_ != varint_kind) fail_at_byte(file_, offset, fmt::format("{} is not an integer", what));
  // Negative numbers are sign-extended to 64 bits; old writers stop at 32.
  auto value = static_cast<std::int64_t>(varint_);
  if (value > std::numeric_limits<std::int32_t>::max() && varint_ <= std::numeric_limits<std::uint32_t>::max())
    value -= std::int64_t{1} << 32;
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
    fail_at_byte(file_, offset, fmt::format("{} does not fit 32 bits", what));
  return static_cast<std::int32_t>(value);
}

WireBytes WireField::message(std::string_view what) const {
  if (kind_ != counted_kind) fail_at_byte(file_, offset, fmt::format("{} is not a message", what));
  return bytes_;
}

void WireReader::fail(std::size_t where, const std::string& message) const { fail_at_byte(file_, where, message); }

std::uint64_t WireReader::varint(std::string_view what) {
  std::uint64_t value = 0;
  const std::size_t begin = offset();
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ >= message_.bytes.size()) fail(begin, fmt::format("{} is cut short", what));
    const auto byte = static_cast<unsigned char>(message_.bytes[at_++]);
    const std::uint64_t bits = byte & 0x7fu;
    if (shift == 63 && bits > 1) fail(begin, fmt::format("{} does not fit 64 bits", what));
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  fail(begin, fmt::format("{} does not end", what));
}

std::string_view WireReader::take(std::uint64_t count, std::string_view what) {
  if (count > message_.bytes.size() - at_)
    fail(offset(), fmt::format("{} of {} bytes, but only {} are left", what, count, message_.bytes.size() - at_));
  const std::string_view bytes = message_.bytes.substr(at_, static_cast<std::size_t>(count));
  at_ += static_cast<std::size_t>(count);
  return bytes;
}

std::optional<WireField> WireReader::next() {
  if (at_ >= message_.bytes.size()) return std::nullopt;
  WireField field;
  field.file_ = file_;
  field.offset = offset();
  const std::uint64_t key = varint("the key of a field");
  field.kind_ = static_cast<std::uint32_t>(key & 7);
  if (key >> 3 == 0 || key >> 3 >= 1u << 29) fail(field.offset, fmt::format("{} is no field's number", key >> 3));
  field.number = static_cast<std::uint32_t>(key >> 3);
  switch (field.kind_) {
    case varint_kind: field.varint_ = varint("a number"); break;
    case eight_bytes_kind: take(8, "a number"); break;
    case four_bytes_kind: take(4, "a number"); break;
    case counted_kind: {
      const std::uint64_t count = varint("a length");
      field.bytes_.offset = offset();
      field.bytes_.bytes = take(count, "a message");
      break;
    }
    default: fail(field.offset, fmt::format("field {} is of the unknown kind {}", field.number, field.kind_));
  }
  return field;
}

}  // namespace taso::rules
