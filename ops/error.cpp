#include "ops/error.h"

#include <fmt/format.h>

namespace taso {

void fail_check(std::string_view message, std::source_location where) {
  throw InternalError(fmt::format("{} ({}:{})", message, where.file_name(), where.line()));
}

}  // namespace taso
