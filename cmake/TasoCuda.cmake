# The CUDA module. Programs load it at run time, so that they start without CUDA.

set(taso_cuda_built FALSE)
if(NOT TASO_CUDA)
  return()
endif()
if(TASO_SANITIZE OR TASO_COVERAGE OR TASO_FUZZ)
  message(STATUS "taso: the CUDA module is left out of instrumented builds")
  return()
endif()

# Toolkits are often not on the PATH.
find_program(TASO_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
mark_as_advanced(TASO_NVCC)
if(TASO_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER ${TASO_NVCC})
endif()
# Set explicitly, because `native` fails on a machine without a GPU.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${TASO_CUDA_ARCHITECTURES})
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  find_package(CUDAToolkit)
endif()
if(NOT CMAKE_CUDA_COMPILER OR NOT CUDAToolkit_FOUND)
  message(STATUS "taso: no CUDA toolkit; the CUDA module is not built")
  return()
endif()
enable_language(CUDA)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS runtime/gpu/cuda/*.cu runtime/gpu/cuda/*.cpp)
add_library(taso_cuda MODULE ${cuda_sources})
# CMake 3.25 does not know that nvcc supports C++20, so the flag is given explicitly instead of a standard.
foreach(property IN ITEMS CXX_STANDARD CXX_STANDARD_REQUIRED CXX_EXTENSIONS)
  set_property(TARGET taso_cuda PROPERTY ${property})
endforeach()
set_target_properties(taso_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/taso
  CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
  CXX_VISIBILITY_PRESET hidden
  CUDA_VISIBILITY_PRESET hidden
  INSTALL_RPATH_USE_LINK_PATH ON)
target_compile_options(taso_cuda PRIVATE
  -std=c++20
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-ffp-contract=off;${taso_false_warnings}>"
  $<$<AND:$<BOOL:${TASO_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<BOOL:${TASO_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Xcompiler=-Werror>)
# The module links the code of taso that it needs and hides it, because the program may contain another version.
target_link_libraries(taso_cuda PRIVATE taso_gpu CUDA::cudart_static ${CMAKE_DL_LIBS})
target_link_options(taso_cuda PRIVATE -Wl,--exclude-libs,ALL)
if(TARGET CUDA::cublasLt AND TARGET CUDA::cublas)
  target_compile_definitions(taso_cuda PRIVATE TASO_HAS_CUBLAS)
  target_link_libraries(taso_cuda PRIVATE CUDA::cublas CUDA::cublasLt)
endif()
if(TARGET CUDA::nvrtc)
  target_compile_definitions(taso_cuda PRIVATE TASO_HAS_NVRTC)
  target_link_libraries(taso_cuda PRIVATE CUDA::nvrtc)
else()
  message(STATUS "taso: no NVRTC; the CUDA module has no generated kernels")
endif()
find_path(TASO_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(TASO_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_TARGET_DIR}/lib)
mark_as_advanced(TASO_CUDNN_INCLUDE_DIR TASO_CUDNN_LIBRARY)
if(TASO_CUDNN_INCLUDE_DIR AND TASO_CUDNN_LIBRARY)
  target_compile_definitions(taso_cuda PRIVATE TASO_HAS_CUDNN)
  target_include_directories(taso_cuda SYSTEM PRIVATE ${TASO_CUDNN_INCLUDE_DIR})
  target_link_libraries(taso_cuda PRIVATE ${TASO_CUDNN_LIBRARY})
else()
  message(STATUS "taso: no cuDNN; the CUDA module is built without it")
endif()
set(taso_cuda_built TRUE)
