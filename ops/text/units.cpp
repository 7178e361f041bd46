#include "ops/text/units.h"

#include <fmt/format.h>

namespace taso::ops {

std::string text_of_bytes(double bytes) {
  if (bytes < 999.5) return fmt::format("{:.0f} {}", bytes, bytes > 0.5 && bytes < 1.5 ? "byte" : "bytes");
  const char* unit = "bytes";
  for (const char* const larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 999.5) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0, unit);
}

}  // namespace taso::ops
