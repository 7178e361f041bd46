# libtaso, the library for other programs: find_package(taso) names it taso::runtime. It exports the functions of
# runtime/api/taso/taso.h and nothing else, so that it can be used beside other versions of the libraries inside it.

file(GLOB sources CONFIGURE_DEPENDS runtime/api/*.cpp)
add_library(taso_runtime SHARED ${sources})
add_library(taso::runtime ALIAS taso_runtime)
set_target_properties(taso_runtime PROPERTIES
  EXPORT_NAME runtime
  OUTPUT_NAME taso
  VERSION ${PROJECT_VERSION}
  SOVERSION 1  # changes when programs have to be compiled again
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  CXX_VISIBILITY_PRESET hidden
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/taso.map)
target_compile_definitions(taso_runtime PRIVATE TASO_BUILDS_LIBRARY)
target_include_directories(taso_runtime PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/api> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(taso_runtime PRIVATE taso_cli)
target_link_options(taso_runtime PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/taso.map -Wl,--exclude-libs,ALL
  -Wl,--as-needed  # without Z3, which only programs use
  # exit() does not wait for other threads. Static objects that they use stay (runtime/api/process_end.h), and so does
  # the library, whose own threads wait for work.
  -Wl,--wrap=__cxa_atexit -Wl,-z,nodelete)
taso_compile_options(taso_runtime)
