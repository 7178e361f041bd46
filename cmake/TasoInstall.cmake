# Installs libraries, headers, programs, the CUDA module, data, and the package files for find_package(taso). The
# component `taso` is what users need, `development` has the static libraries of the folders and their headers.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TASO_LIBRARIES)
get_property(folders GLOBAL PROPERTY TASO_FOLDERS)
get_property(programs GLOBAL PROPERTY TASO_PROGRAMS)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/taso)

set(library_component development)
if(BUILD_SHARED_LIBS)  # the programs need them
  set(library_component taso)
endif()
install(TARGETS ${libraries} EXPORT tasoTargets COMPONENT ${library_component})
install(TARGETS taso_runtime EXPORT tasoRuntimeTargets COMPONENT taso)
install(DIRECTORY runtime/api/taso DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT taso
        FILES_MATCHING PATTERN "*.h")
foreach(folder IN LISTS folders)
  cmake_path(GET folder PARENT_PATH parent)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/taso/${parent} COMPONENT development
          FILES_MATCHING PATTERN "*.h" PATTERN "cuda" EXCLUDE)
endforeach()
if(programs)
  # Relative, so that a moved installation with shared libraries still runs.
  file(RELATIVE_PATH library_path ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${library_path}")
  install(TARGETS ${programs} COMPONENT taso)
endif()
if(taso_cuda_built)
  install(TARGETS taso_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/taso COMPONENT taso)
endif()

# Data. The build folder has links at the same places, so that programs find data in the same way in both.
set(data_folders rules examples cost/prices cli/schemas)
foreach(source IN LISTS data_folders)
  if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${source})
    continue()
  endif()
  cmake_path(GET source FILENAME name)
  install(DIRECTORY ${source}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/taso/${name} COMPONENT taso
          FILES_MATCHING REGEX "\\.(rules|sets|experience|prices|onnx|json)$" PATTERN "networks" EXCLUDE)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/taso)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_BINARY_DIR}/share/taso/${name} SYMBOLIC)
endforeach()
install(DIRECTORY examples/library DESTINATION ${CMAKE_INSTALL_DATADIR}/taso/examples COMPONENT taso
        FILES_MATCHING PATTERN "*.cpp" PATTERN "CMakeLists.txt")
install(FILES LICENSE CHANGELOG.md cmake/packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT taso)

# Licences of others: of headers that are compiled in, and of libraries that a wheel contains. Debian keeps them there.
set(third_party_licences)
foreach(package IN ITEMS libcli11-dev nlohmann-json3-dev libfmt-dev libonnx-dev libprotobuf-dev libz3-dev
                         libopenblas0-pthread libjemalloc2 libgfortran5)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party
            RENAME ${package} COMPONENT taso)
    list(APPEND third_party_licences ${package})
  endif()
endforeach()

# The installed places, for programs that run from elsewhere.
if(TARGET taso_ops)
  set_source_files_properties(ops/support/data_files.cpp PROPERTIES COMPILE_DEFINITIONS
    "TASO_DATA_FOLDER=\"${CMAKE_INSTALL_FULL_DATADIR}/taso\"")
  set_source_files_properties(ops/support/module_file.cpp PROPERTIES COMPILE_DEFINITIONS
    "TASO_LIBRARY_FOLDER=\"${CMAKE_INSTALL_FULL_LIBDIR}\";TASO_LIBRARY_SUBFOLDER=\"${CMAKE_INSTALL_LIBDIR}\"")
endif()

# Which packages find_package(taso COMPONENTS …) has to find for each library.
set(package_of_fmt::fmt fmt)
set(package_of_Threads::Threads Threads)
set(package_of_nlohmann_json::nlohmann_json nlohmann_json)
set(package_of_protobuf::libprotobuf Protobuf)
set(package_of_${onnx_messages} Protobuf ONNX)  # ONNX's package needs the other
set(package_of_OpenBlas::OpenBlas OpenBlas)
set(package_of_z3::libz3 Z3)
set(package_of_CLI11::CLI11 CLI11)
set(package_of_Cbc::Cbc Cbc)
function(taso_find_packages target result)
  set(packages)
  get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS linked)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    if(library MATCHES "^taso_")
      taso_find_packages(${library} more)
      list(APPEND packages ${more})
    else()
      list(APPEND packages ${package_of_${library}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  set(${result} ${packages} PARENT_SCOPE)
endfunction()
set(taso_components)
set(taso_requirements)
foreach(library IN LISTS libraries)
  taso_find_packages(${library} packages)
  string(REPLACE ";" " " packages "${packages}")
  string(REGEX REPLACE "^taso_" "" name ${library})
  string(APPEND taso_components " ${name}")
  string(APPEND taso_requirements "  set(taso_needs_${name} ${packages})\n")
endforeach()
install(EXPORT tasoTargets NAMESPACE taso:: DESTINATION ${package_folder} COMPONENT development)
install(EXPORT tasoRuntimeTargets NAMESPACE taso:: DESTINATION ${package_folder} COMPONENT taso)
configure_package_config_file(cmake/tasoConfig.cmake.in ${PROJECT_BINARY_DIR}/tasoConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tasoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tasoConfig.cmake ${PROJECT_BINARY_DIR}/tasoConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT taso)
install(FILES cmake/FindCbc.cmake cmake/FindOpenBlas.cmake cmake/FindZ3.cmake
        DESTINATION ${package_folder} COMPONENT development)
