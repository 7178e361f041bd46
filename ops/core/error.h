// Three kinds of trouble, three types: the user's mistake, the environment's refusal, and our bug.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "ops/core/namespace.h"

namespace taso::ops {

/// The input is unreadable or invalid: the user's to mend. Caught once, in cli/ (exit 3).
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operator does not fit the shapes it was given.
struct ShapeError : InputError {
  using InputError::InputError;
};

/// The machine said no: disk full, no permission, memory limit (exit 6).
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A broken promise of our own code (exit 1).
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// A place in our sources: std::source_location, which clang 14 does not get from g++'s library.
struct SourcePlace {
  const char* file;
  int line;
  static constexpr SourcePlace current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

[[noreturn]] void fail_check(std::string_view message, SourcePlace where);

/// Stays on in release builds.
inline void check(bool holds, std::string_view message, SourcePlace where = SourcePlace::current()) {
  if (!holds) [[unlikely]]
    fail_check(message, where);
}

}  // namespace taso::ops
