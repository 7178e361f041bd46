#include "cli/console/memory.h"

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

}  // namespace taso::cli
