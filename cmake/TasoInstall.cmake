# Installs libraries, headers, programs, the CUDA module, data, and the package files for find_package(taso).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TASO_LIBRARIES)
get_property(folders GLOBAL PROPERTY TASO_FOLDERS)
get_property(programs GLOBAL PROPERTY TASO_PROGRAMS)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/taso)

install(TARGETS ${libraries} EXPORT tasoTargets)
install(TARGETS taso_runtime EXPORT tasoRuntimeTargets)
install(DIRECTORY runtime/api/taso DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(folder IN LISTS folders)
  cmake_path(GET folder PARENT_PATH parent)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/taso/${parent} FILES_MATCHING PATTERN "*.h"
          PATTERN "cuda" EXCLUDE)
endforeach()
if(programs)
  # Relative, so that a moved installation with shared libraries still runs.
  file(RELATIVE_PATH library_path ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${library_path}")
  install(TARGETS ${programs})
endif()
if(taso_cuda_built)
  install(TARGETS taso_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/taso)
endif()

# Data. The build folder has links at the same places, so that programs find data in the same way in both.
set(data_folders rules examples cost/prices)
foreach(source IN LISTS data_folders)
  if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${source})
    continue()
  endif()
  cmake_path(GET source FILENAME name)
  install(DIRECTORY ${source}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/taso/${name}
          FILES_MATCHING REGEX "\\.(rules|sets|experience|prices|onnx|json)$" PATTERN "networks" EXCLUDE)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/taso)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_BINARY_DIR}/share/taso/${name} SYMBOLIC)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The installed places, for programs that run from elsewhere.
if(TARGET taso_gpu)
  set_source_files_properties(runtime/gpu/device.cpp PROPERTIES COMPILE_DEFINITIONS
    "TASO_LIBRARY_FOLDER=\"${CMAKE_INSTALL_FULL_LIBDIR}\";TASO_LIBRARY_SUBFOLDER=\"${CMAKE_INSTALL_LIBDIR}\"")
endif()
if(TARGET taso_ops)
  set_source_files_properties(ops/support/data_files.cpp PROPERTIES COMPILE_DEFINITIONS
    "TASO_DATA_FOLDER=\"${CMAKE_INSTALL_FULL_DATADIR}/taso\"")
endif()

if(TARGET taso_verifier)
  set(taso_needs_z3 TRUE)
else()
  set(taso_needs_z3 FALSE)
endif()
set(taso_needs_cbc FALSE)
if(Cbc_FOUND)
  set(taso_needs_cbc TRUE)
endif()
install(EXPORT tasoTargets NAMESPACE taso:: DESTINATION ${package_folder})
install(EXPORT tasoRuntimeTargets NAMESPACE taso:: DESTINATION ${package_folder})
configure_package_config_file(cmake/tasoConfig.cmake.in ${PROJECT_BINARY_DIR}/tasoConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tasoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tasoConfig.cmake ${PROJECT_BINARY_DIR}/tasoConfigVersion.cmake
              cmake/FindCbc.cmake cmake/FindOpenBlas.cmake cmake/FindZ3.cmake
        DESTINATION ${package_folder})
