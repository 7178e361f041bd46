#include "cli/console/memory.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace taso::cli {
namespace {

/// The value of a line such as "VmRSS:     1234 kB". getrusage() would include the process before it became this
/// program.
std::uint64_t status(const std::string& name) {
  std::ifstream stream("/proc/self/status");
  std::string line;
  while (std::getline(stream, line))
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
  return 0;
}

}  // namespace

std::uint64_t memory_in_use() { return status("VmRSS:"); }
std::uint64_t peak_memory() { return status("VmHWM:"); }

bool memory_is_limited() {
  const auto is_limited = [](auto resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

}  // namespace taso::cli
