#include "ops/cluster/join.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "ops/cluster/mpi/module.h"
#include "ops/core/error.h"
#include "ops/support/module_file.h"

namespace taso::ops {
namespace {

constexpr const char* module_name = "libtaso_mpi.so";

std::filesystem::path mpi_module() {
  if (const char* named = std::getenv("TASO_MPI_MODULE"); named != nullptr && *named != '\0') return named;
  return find_module(module_name);
}

}  // namespace

bool is_started_as_rank() { return !started_rank().empty(); }

std::string started_rank() {
  for (const char* mark : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})  // Open MPI, Slurm, MPICH
    if (const char* const rank = std::getenv(mark); rank != nullptr && *rank != '\0') return rank;
  return "";
}

Communicator& join_ranks() {
  static OneRank alone;
  if (!is_started_as_rank()) return alone;
  const std::filesystem::path module = mpi_module();
  if (module.empty())
    throw EnvironmentError(std::string("this was started as one of several ranks, but ") + module_name +
                           " is not there: taso was built without MPI");
  // Never closed. Global, because MPI loads plug-ins that need its names.
  void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw EnvironmentError(std::string("the MPI module cannot be loaded: ") + (why ? why : module.string()));
  }
  const auto open = reinterpret_cast<OpenMpi>(::dlsym(library, "taso_mpi_open"));
  Communicator* const ranks = open == nullptr ? nullptr : open(mpi_interface);
  if (ranks == nullptr) throw EnvironmentError(module.string() + " belongs to another version of this program");
  return *ranks;
}

}  // namespace taso::ops
