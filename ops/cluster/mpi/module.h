// The interface of the MPI module. Programs load it at run time, so that they start without MPI.
#pragma once

#include "ops/cluster/communicator.h"

namespace taso::ops {

/// Incremented with every change of the interface: a program does not use the module of another version.
constexpr int mpi_interface = 1;

/// The module's function `taso_mpi_open`: joins the other ranks. Null if the interface is another one; throws
/// EnvironmentError. The result is never deleted.
using OpenMpi = Communicator* (*)(int interface);

}  // namespace taso::ops
