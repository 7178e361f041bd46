// A rank of a cluster's job that is killed ends the job with the exit code that scripts rely on.
#pragma once

#include <optional>

namespace taso::cli {

/// If mpirun or a similar program started this process: runs the program again as a child and returns its exit code, or
/// that of EnvironmentError if a signal ended it, because mpirun passes on the exit code of the process that it
/// started. Nothing in the child, and in a process that was started alone. `advice` ends the message about a signal.
std::optional<int> end_of_supervised(char** arguments, const char* advice = "");

}  // namespace taso::cli
