#include "verifier/version.h"

#include <fmt/format.h>
#include <z3.h>

namespace taso::verifier {

std::string z3_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("{}.{}.{}", major, minor, build);
}

}  // namespace taso::verifier
