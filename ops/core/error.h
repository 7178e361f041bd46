// The three kinds of errors: the user's mistake, a refusal by the environment, and a bug of ours.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The input is unreadable or invalid, and the user can fix it. Caught once, in cli/ (exit 3).
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operator does not fit the shapes it was given.
struct ShapeError : InputError {
  using InputError::InputError;
};

/// The machine refuses: disk full, no permission, memory limit (exit 6).
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A bug in our own code (exit 1).
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// A source location. It stands in for std::source_location, which clang 14 lacks with g++'s library.
struct SourcePlace {
  const char* file;
  int line;
  static constexpr SourcePlace current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

[[noreturn]] void fail_check(std::string_view message, SourcePlace where);

/// Throws InternalError unless `holds`, in release builds too.
inline void check(bool holds, std::string_view message, SourcePlace where = SourcePlace::current()) {
  if (!holds) [[unlikely]]
    fail_check(message, where);
}

}  // namespace taso::ops
