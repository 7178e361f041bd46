// What every fuzz target needs: the bytes it was given as text, and what was read printed and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/error.h"

namespace taso::test {

inline std::string_view text_of_bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What `print` gives is read by `parse`: text that we wrote is never refused. Returns what was read.
template <class Parse>
auto read_back(const std::string& printed, Parse&& parse) {
  try {
    return parse(printed);
  } catch (const InputError& error) {
    throw InternalError(std::string("what was printed does not parse: ") + error.what());
  }
}

}  // namespace taso::test
