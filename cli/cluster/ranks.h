// Programs that run as several ranks of a cluster.
#pragma once

#include "cli/console/console.h"
#include "ops/cluster/communicator.h"

namespace taso::cli {

/// Joins the other ranks, if there are any. Only the first prints more than errors and writes the log.
Communicator& join_ranks(Console::Options& console);

}  // namespace taso::cli
