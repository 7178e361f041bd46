#include "cli/cluster/ranks.h"

#include <optional>

#include "ops/cluster/join.h"

namespace taso::cli {

Communicator& join_ranks(Console::Options& console) {
  Communicator& ranks = ops::join_ranks();
  if (!ranks.is_first()) {
    console.verbosity = static_cast<int>(Console::Level::error);
    console.log_file = std::nullopt;
  }
  return ranks;
}

}  // namespace taso::cli
