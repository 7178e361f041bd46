# libtaso_onnxruntime, an execution provider for ONNX Runtime 1.23 and newer, which loads it at run time. It needs only
# headers, which scripts/fetch-onnxruntime-headers downloads, and links nothing but libtaso.

if(TASO_SANITIZE)
  message(STATUS "taso: the execution provider is left out of instrumented builds, for a plain Python cannot load it")
  return()
endif()
find_path(TASO_ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS ${PROJECT_SOURCE_DIR}/build/onnxruntime/include PATH_SUFFIXES onnxruntime onnxruntime/core/session
  DOC "The folder of onnxruntime_c_api.h, of ONNX Runtime 1.23 or newer")
set(onnxruntime_interface 0)
if(TASO_ONNXRUNTIME_INCLUDE_DIR)
  file(STRINGS ${TASO_ONNXRUNTIME_INCLUDE_DIR}/onnxruntime_c_api.h line REGEX "^#define ORT_API_VERSION" LIMIT_COUNT 1)
  string(REGEX MATCH "[0-9]+" onnxruntime_interface "${line}")
endif()
if(onnxruntime_interface LESS 23)
  message(STATUS "taso: no headers of ONNX Runtime 1.23 or newer; its execution provider is not built")
  return()
endif()

if(onnxruntime_interface LESS 24)
  message(STATUS "taso: headers of ONNX Runtime before 1.24; its execution provider does not use device memory")
endif()
file(GLOB sources CONFIGURE_DEPENDS runtime/onnxruntime/*.cpp)
add_library(taso_onnxruntime MODULE ${sources})
set_target_properties(taso_onnxruntime PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
  CXX_VISIBILITY_PRESET hidden
  BUILD_RPATH_USE_ORIGIN ON
  INSTALL_RPATH "$ORIGIN"
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/taso_onnxruntime.map)
target_compile_features(taso_onnxruntime PRIVATE cxx_std_20)
target_include_directories(taso_onnxruntime PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(taso_onnxruntime SYSTEM PRIVATE ${TASO_ONNXRUNTIME_INCLUDE_DIR})
target_link_libraries(taso_onnxruntime PRIVATE taso_runtime)
target_link_options(taso_onnxruntime PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/taso_onnxruntime.map
  -Wl,-z,defs
  -Wl,-z,nodelete)  # threads of libtaso outlive the registration
taso_compile_options(taso_onnxruntime)
install(TARGETS taso_onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT taso)
