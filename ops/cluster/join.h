// Joins the ranks of a job that mpirun or a similar program started.
#pragma once

#include <string>

#include "ops/cluster/communicator.h"

namespace taso::ops {

/// Whether mpirun, srun or a similar program started this process as one of several.
bool is_started_as_rank();

/// The number of this process among them, as that program counts; empty if it was started alone.
std::string started_rank();

/// The ranks of this job; a single one if it was started alone. Throws EnvironmentError if this build or machine has no
/// MPI module. One call per process; the result lives as long as the process.
Communicator& join_ranks();

}  // namespace taso::ops
