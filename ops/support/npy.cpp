#include "ops/support/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "ops/core/tensor.h"

namespace taso::ops {
namespace {

struct Header {
  ElementType type = ElementType::undefined;
  bool fortran_order = false;
  Extents shape;
};

ElementType type_of(std::string_view descr) {
  struct Entry {
    std::string_view code;
    ElementType type;
  };
  constexpr Entry known[] = {
      {"f4", ElementType::float32},  {"f8", ElementType::float64}, {"f2", ElementType::float16},
      {"V2", ElementType::bfloat16}, {"i1", ElementType::int8},    {"i2", ElementType::int16},
      {"i4", ElementType::int32},    {"i8", ElementType::int64},   {"u1", ElementType::uint8},
      {"u2", ElementType::uint16},   {"u4", ElementType::uint32},  {"u8", ElementType::uint64},
      {"b1", ElementType::boolean},
  };
  if (descr.size() == 3) {
    const char order = descr.front();
    if (order == '>') throw InputError(fmt::format("is big-endian ('{}'); only little-endian files are read", descr));
    for (const Entry& entry : known)
      if (descr.substr(1) == entry.code && (order == '<' || (order == '|' && (descr[2] == '1' || descr[1] == 'V'))))
        return entry.type;
  }
  throw InputError(fmt::format("has elements of type '{}', which is not supported", descr));
}

/// Parses the header: a Python dictionary, in the only form that the format allows.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    std::optional<ElementType> type;
    std::optional<bool> fortran_order;
    std::optional<Extents> shape;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !type) {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[') throw InputError("has structured elements (not supported)");
        type = type_of(string());
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        fail();
      }
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    if (at_ != text_.size() || !type || !fortran_order || !shape) fail();
    return {*type, *fortran_order, std::move(*shape)};
  }

 private:
  [[noreturn]] static void fail() { throw InputError("has a damaged header"); }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string_view string() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail();
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail();
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    fail();
  }
  std::int64_t number() {
    skip_space();
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc{} || value < 0) fail();
    at_ = static_cast<std::size_t>(stop - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
    return value;
  }
  Extents tuple() {
    Extents extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(number());
      if (accept(')')) {
        if (extents.size() == 1) fail();  // (3) is a number, (3,) a tuple
        break;
      }
      expect(',');
    }
    return extents;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Reads the header and removes it from the bytes.
Header take_header(std::string_view& bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.size() < magic.size() + 4 || bytes.substr(0, magic.size()) != magic) throw InputError("is not a .npy file");
  const int major = static_cast<unsigned char>(bytes[6]);
  const int minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    throw InputError(fmt::format("has version {}.{}, not 1.0 to 3.0", major, minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t start = magic.size() + 2 + length_bytes;
  if (bytes.size() < start) throw InputError("is cut off in its header");
  const std::size_t length = little_endian(bytes.substr(start - length_bytes, length_bytes));
  if (bytes.size() - start < length) throw InputError("is cut off in its header");
  const Header header = HeaderParser(bytes.substr(start, length)).parse();
  bytes.remove_prefix(start + length);
  return header;
}

/// Copies elements from Fortran order (first index fastest) to C order (last index fastest).
void copy_transposed(const Header& header, const char* source, std::byte* target) {
  const std::size_t size = size_of(header.type);
  std::vector<std::int64_t> strides(header.shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = stride;
    stride *= header.shape[i];
  }
  for_each_index(header.shape, [&](const Extents& index) {
    std::memcpy(target, source + static_cast<std::size_t>(flat_index(index, strides)) * size, size);
    target += size;
  });
}

}  // namespace

Array parse_npy(std::string_view bytes) {
  const Header header = take_header(bytes);
  const std::int64_t elements = count(header.shape);
  const std::size_t size = size_of(header.type);
  if (static_cast<std::uint64_t>(elements) > bytes.size() / size ||
      bytes.size() != static_cast<std::size_t>(elements) * size)
    throw InputError(fmt::format("has {} bytes of data, but {}{} takes {} elements of {}", bytes.size(),
                                 name_of(header.type), text_of(header.shape), elements, size));
  if (header.type == ElementType::boolean)
    for (const char c : bytes)
      if (c != 0 && c != 1) throw InputError("has a boolean that is neither 0 nor 1");
  Array array(header.type, header.shape);
  if (bytes.empty()) return array;
  if (header.fortran_order && header.shape.size() > 1) {
    copy_transposed(header, bytes.data(), array.mutable_data());
  } else {
    std::memcpy(array.mutable_data(), bytes.data(), bytes.size());
  }
  return array;
}

Array read_npy(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("{}: {}", path.string(), error ? error.message() : "is not a regular file"));
  std::ifstream file(path, std::ios::binary);
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!file || error) throw InputError(fmt::format("{}: cannot be read", path.string()));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw InputError(fmt::format("{}: cannot be read", path.string()));
  try {
    return parse_npy(bytes);
  } catch (const InputError& problem) {
    throw InputError(fmt::format("{}: {}", path.string(), problem.what()));
  }
}

}  // namespace taso::ops
