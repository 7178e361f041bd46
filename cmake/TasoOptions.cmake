# The options of the build, and the compiler flags of all targets.

option(TASO_WERROR "Treat warnings as errors (on in the presets; other compilers may have newer warnings)" OFF)
option(TASO_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TASO_Z3 "Build the verifier, if Z3 is found" ON)
option(TASO_CBC "Solve integer programs, if CBC is found" ON)
option(TASO_MPI "Build the MPI module, if MPI is found" ON)
option(TASO_JEMALLOC "Link the programs with jemalloc, if it is found" ON)
option(TASO_CUDA "Build the CUDA module, if a toolkit is found" ON)
option(TASO_PRECOMPILE "Compile the headers that most sources include only once (not with a compiler cache)" OFF)
option(TASO_UNITY "Compile several sources of a folder at once: halves a first build (not with a compiler cache)" OFF)
option(TASO_COVERAGE "Measure line coverage" OFF)
option(TASO_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(TASO_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
set(TASO_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPU architectures of the CUDA module")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  # The build folder is laid out like an installation, so that programs find their module and data the same way.
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()

if(TASO_SANITIZE)
  add_compile_options(-fsanitize=${TASO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TASO_SANITIZE})
endif()
if(TASO_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(TASO_FUZZ)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
  else()
    message(STATUS "taso: libFuzzer needs clang; the fuzz targets are skipped")
    set(TASO_FUZZ OFF)
  endif()
endif()

# g++ 12 reports overlapping copies in every `"text" + string` (its bug 105651, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(taso_false_warnings -Wno-restrict)
endif()
# With precompiled headers, g++ no longer knows which code is the standard library's, and warns of its bounds. g++ 13
# warns of those of fmt 9, of which the compiler knows more once it is inlined (Ubuntu 24.04 has both).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (TASO_PRECOMPILE OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13))
  list(APPEND taso_false_warnings -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# g++'s -Wconversion does not cover changes of sign; make clang's the same.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(taso_false_warnings -Wno-sign-conversion)
endif()

# -ffp-contract=off: arm64 compilers fuse a*b+c by default, and results must not depend on the machine.
# -fmacro-prefix-map: messages name sources relative to the root, wherever they were compiled. With ccache,
# scripts/compile rewrites paths relative to the build folder, so that checkouts in different places share objects.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  file(RELATIVE_PATH taso_source_prefix ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
else()
  set(taso_source_prefix ${PROJECT_SOURCE_DIR})
endif()
string(REGEX REPLACE "/$" "" taso_source_prefix "${taso_source_prefix}")
function(taso_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow ${taso_false_warnings} $<$<BOOL:${TASO_WERROR}>:-Werror> -ffp-contract=off
    -fmacro-prefix-map=${taso_source_prefix}/=)
endfunction()

# taso_precompile(TARGET KIND [header…])
# Targets of one KIND share precompiled headers, which the first of them makes: those of cmake/precompiled.h and those
# named. They have to be compiled with the same flags.
function(taso_precompile target kind)
  if(NOT TASO_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY TASO_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h ${ARGN})
    set_property(GLOBAL PROPERTY TASO_PRECOMPILED_${kind} ${target})
  endif()
endfunction()
