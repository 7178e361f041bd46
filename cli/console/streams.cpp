#include "cli/console/streams.h"

#include <cstdio>

#include "ops/core/error.h"
#include "ops/support/atomic_file.h"

namespace taso::cli {

bool is_standard_stream(const std::filesystem::path& file) { return file == "-"; }

void write_output(const std::filesystem::path& file, std::string_view text) {
  if (!is_standard_stream(file)) {
    write_file(file, text);
  } else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw EnvironmentError("cannot write to the standard output");
  }
}

void check_writable(const std::filesystem::path& file) {
  if (!is_standard_stream(file)) const AtomicFile trial(file);
}

}  // namespace taso::cli
