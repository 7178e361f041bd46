# Finds OpenBLAS with its own header, in the variant with plain threads. CMake's FindBLAS takes the BLAS that the
# system's alternatives name, which may be the slow reference one. Defines OpenBlas::OpenBlas.

find_path(OpenBlas_INCLUDE_DIR NAMES openblas_config.h
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread openblas)
find_library(OpenBlas_LIBRARY NAMES openblas
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread)
mark_as_advanced(OpenBlas_INCLUDE_DIR OpenBlas_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBlas REQUIRED_VARS OpenBlas_LIBRARY OpenBlas_INCLUDE_DIR)
if(OpenBlas_FOUND AND NOT TARGET OpenBlas::OpenBlas)
  add_library(OpenBlas::OpenBlas UNKNOWN IMPORTED)
  set_target_properties(OpenBlas::OpenBlas PROPERTIES
    IMPORTED_LOCATION ${OpenBlas_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OpenBlas_INCLUDE_DIR})
endif()
