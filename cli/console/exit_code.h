// How a program ends: the exit codes that scripts rely on, and which error leads to which.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {

enum class ExitCode {
  done = 0,          ///< also when nothing improved
  bug = 1,           ///< a bug of taso
  usage = 2,         ///< invalid command line
  input = 3,         ///< unreadable or invalid
  check_failed = 4,  ///< no output written
  unverified = 5,    ///< a rule, property or certificate did not verify
  environment = 6,   ///< output not writable, disk full, memory limit
  interrupted = 130,
};

/// The command line is invalid, by itself or for this model.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An InputError with a position: the text also shows the offending line and a caret.
struct PlacedError : InputError {
  using InputError::InputError;
};

struct Failure {
  ExitCode ending = ExitCode::bug;
  std::string text;  ///< one line, except for a PlacedError
};

/// The exit code and message for an exception that was not caught.
Failure failure_of(std::exception_ptr exception);

}  // namespace taso::cli
