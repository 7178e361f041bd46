# The MPI module, for taso-gen on several machines. Programs load it when mpirun starts them, so that they need no MPI
# otherwise; the Debian package leaves it out.

if(NOT TASO_MPI)
  return()
endif()
if(TASO_SANITIZE OR TASO_COVERAGE OR TASO_FUZZ)
  message(STATUS "taso: the MPI module is left out of instrumented builds")
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON)  # MPI's C++ interface is not used
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "taso: no MPI; taso-gen works on one machine")
  return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS ops/cluster/mpi/*.cpp)
add_library(taso_mpi MODULE ${mpi_sources})
set_target_properties(taso_mpi PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/taso
  CXX_VISIBILITY_PRESET hidden
  INSTALL_RPATH_USE_LINK_PATH ON)  # clusters have their own MPI, anywhere
# The module links the code of taso that it needs and hides it, because the program may contain another version.
target_link_libraries(taso_mpi PRIVATE taso_ops MPI::MPI_CXX)
target_link_options(taso_mpi PRIVATE -Wl,--exclude-libs,ALL)
taso_compile_options(taso_mpi)
install(TARGETS taso_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/taso COMPONENT cluster)
