#include "ops/support/npy.h"

#include <string>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

std::string little_endian(std::size_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  return std::string("\x93NUMPY") + version + '\0' + little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   \n", descr, fortran ? "True" : "False",
                     shape);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_CASE("every version and order of a .npy file is read") {
  const std::string data = bytes_of<std::int32_t>({1, 2, 3, 4, 5, 6});
  const Array expected = Array::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char version : {'\1', '\2', '\3'})
    CHECK(identical(parse_npy(npy(header_of("<i4", "(2, 3)"), data, version)), expected));
  CHECK(identical(parse_npy(npy(header_of("<i4", "(2, 3)", true), data)),
                  Array::of<std::int32_t>({2, 3}, {1, 3, 5, 2, 4, 6})));
  CHECK(identical(parse_npy(npy(header_of("<i4", "(2L, 3L)"), data)), expected));
  CHECK(identical(parse_npy(npy(header_of("<i4", "(6,)"), data)), expected.reshaped({6})));
  CHECK(identical(parse_npy(npy(header_of("<i4", "()"), data.substr(0, 4))), Array::scalar<std::int32_t>(1)));
  CHECK(parse_npy(npy(header_of("<i4", "(0, 3)"), "")).extents() == Extents{0, 3});
  CHECK(identical(parse_npy(npy("{\"shape\": (6,), \"fortran_order\": False, \"descr\": \"<i4\"}\n", data)),
                  expected.reshaped({6})));
}

TEST_CASE("every element type of a .npy file is read") {
  const std::pair<const char*, ElementType> types[] = {
      {"<f4", ElementType::float32},  {"<f8", ElementType::float64}, {"<f2", ElementType::float16},
      {"|V2", ElementType::bfloat16}, {"|i1", ElementType::int8},    {"<i2", ElementType::int16},
      {"<i4", ElementType::int32},    {"<i8", ElementType::int64},   {"|u1", ElementType::uint8},
      {"<u2", ElementType::uint16},   {"<u4", ElementType::uint32},  {"<u8", ElementType::uint64},
      {"|b1", ElementType::boolean}};
  for (const auto& [code, type] : types) {
    INFO(code);
    const Array array = parse_npy(npy(header_of(code, "(3,)"), std::string(3 * size_of(type), '\1')));
    CHECK(array.type() == type);
    CHECK(array.extents() == Extents{3});
  }
  CHECK(parse_npy(npy(header_of("<f2", "()"), std::string("\x00\x3e", 2))).doubles() == std::vector<double>{1.5});
}

TEST_CASE("a .npy file that is damaged or of another kind is refused") {
  const std::string data = bytes_of<float>({1, 2});
  const std::string good = header_of("<f4", "(2,)");
  CHECK_NOTHROW(parse_npy(npy(good, data)));
  const std::string whole = npy(good, data);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK_THROWS_AS(parse_npy(std::string_view(whole).substr(0, length)), InputError);
  }
  CHECK_THROWS_AS(parse_npy(npy(good, data + "x")), InputError);
  CHECK_THROWS_AS(parse_npy(npy(good, data, 4)), InputError);
  CHECK_THROWS_AS(parse_npy("PK\3\4 an archive of many arrays"), InputError);
  for (const char* descr : {">f4", "<c8", "|O", "<U3", "|f4", "<V4", "|S1", "f4", ""}) {
    INFO(descr);
    CHECK_THROWS_AS(parse_npy(npy(header_of(descr, "(2,)"), data)), InputError);
  }
  for (const char* shape : {"(2)", "2", "(-2,)", "(2,,)", "(1e3,)", "(99999999999999999999,)",
                            "(4294967296, 4294967296)", "(9223372036854775807,)", "[2]", "("}) {
    INFO(shape);
    CHECK_THROWS_AS(parse_npy(npy(header_of("<f4", shape), data)), InputError);
  }
  for (const char* header : {"", "{}", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'descr': '<f4'}",
                             "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} or more"}) {
    INFO(header);
    CHECK_THROWS_AS(parse_npy(npy(header, data)), InputError);
  }
  CHECK_THROWS_AS(parse_npy(npy(header_of("|b1", "(2,)"), std::string("\1\2", 2))), InputError);
  CHECK_THROWS_AS(read_npy("no such file.npy"), InputError);
  CHECK_THROWS_AS(read_npy("."), InputError);
}

}  // namespace
}  // namespace taso::test
