#include "ops/core/error.h"

#include <fmt/format.h>

namespace taso::ops {

void fail_check(std::string_view message, SourcePlace where) {
  throw InternalError(fmt::format("{} ({}:{})", message, where.file, where.line));
}

}  // namespace taso::ops
