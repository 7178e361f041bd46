// How a program ends: the exit codes that scripts rely on, and which trouble leads to which.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {

enum class Ending {
  done = 0,          ///< also when nothing improved
  bug = 1,           ///< ours
  usage = 2,         ///< the command line makes no sense
  input = 3,         ///< unreadable or invalid
  check_failed = 4,  ///< no output written
  unverified = 5,    ///< a rule, property or certificate
  environment = 6,   ///< output not writable, disk full, memory limit
  interrupted = 130,
};

/// The command line makes no sense, by itself or for this model.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An InputError whose text points into a file: the line at fault and a caret stand below the message.
struct PlacedError : InputError {
  using InputError::InputError;
};

struct Trouble {
  Ending ending = Ending::bug;
  std::string text;  ///< one line, but for a PlacedError
};

/// What an exception that nobody caught means.
Trouble trouble_of(std::exception_ptr exception);

}  // namespace taso::cli
