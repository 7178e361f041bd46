# The Python package: python/taso and the extension module _taso, which scikit-build-core puts into a wheel
# (pyproject.toml). A build folder has the same package in python/, for tests: PYTHONPATH=<build>/python.
# The package is laid out like an installation (bin, lib, share), so that library and programs find their data.

option(TASO_PYTHON_MODULE "Build the Python package, if nanobind is found (scikit-build-core always does)" OFF)
if(NOT TASO_PYTHON_MODULE AND NOT SKBUILD)
  return()
endif()
if(TASO_SANITIZE OR TASO_COVERAGE OR TASO_FUZZ)
  message(STATUS "taso: the Python package is left out of instrumented builds")
  return()
endif()
# The interpreter of the tests, if there is one (cmake/RunPytest.cmake). The extension is for all from 3.10 on.
foreach(candidate IN ITEMS ${TASO_PYTHON} ${PROJECT_BINARY_DIR}/venv/bin/python
                           ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
  if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS "${candidate}")
    set(Python_EXECUTABLE ${candidate})
  endif()
endforeach()
find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(Python_Development.Module_FOUND)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT ERROR_QUIET)
  find_package(nanobind 3 CONFIG)
endif()
if(NOT nanobind_FOUND)
  if(SKBUILD)
    message(FATAL_ERROR "taso: the Python package needs Python's headers and nanobind 3")
  endif()
  message(STATUS "taso: no nanobind 3 or no headers of Python; the Python package is not built")
  return()
endif()

# The part of nanobind that depends on the version of Python is a package of its own.
nanobind_add_module(_taso BACKEND_MODULE nanobind_backend NB_SUPPRESS_WARNINGS
  python/extension/module.cpp python/extension/tensor_calls.cpp)
target_include_directories(_taso PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(_taso PRIVATE taso_runtime)
taso_compile_options(_taso)
set_target_properties(_taso PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/taso
  INSTALL_RPATH "$ORIGIN/lib")

get_property(programs GLOBAL PROPERTY TASO_PROGRAMS)
add_custom_target(taso_package DEPENDS _taso taso_runtime ${programs})
if(taso_cuda_built)
  add_dependencies(taso_package taso_cuda)
endif()
if(TARGET taso_onnxruntime)
  add_dependencies(taso_package taso_onnxruntime)
endif()

file(GLOB package_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/taso
  python/taso/*.py python/taso/*.pyi python/taso/py.typed)
set(package ${PROJECT_BINARY_DIR}/python/taso)
file(MAKE_DIRECTORY ${package})
foreach(file IN LISTS package_files)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/taso/${file} ${package}/${file} SYMBOLIC)
endforeach()
foreach(folder IN ITEMS bin lib share)
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/${folder} ${package}/${folder} SYMBOLIC)
endforeach()

if(NOT SKBUILD)
  return()
endif()
# Wheels have no links: the library has one name. auditwheel finds the libraries of others by the paths of the link.
set_target_properties(taso_runtime PROPERTIES VERSION 1)
set_target_properties(taso_runtime ${programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
# scikit-build-core installs this component alone.
install(TARGETS _taso LIBRARY DESTINATION taso COMPONENT python)
install(TARGETS ${programs} RUNTIME DESTINATION taso/bin COMPONENT python)
install(TARGETS taso_runtime LIBRARY DESTINATION taso/lib COMPONENT python NAMELINK_SKIP)
if(taso_cuda_built)
  install(TARGETS taso_cuda LIBRARY DESTINATION taso/lib/taso COMPONENT python)
endif()
if(TARGET taso_onnxruntime)
  install(TARGETS taso_onnxruntime LIBRARY DESTINATION taso/lib COMPONENT python)
endif()
foreach(source IN LISTS data_folders)
  cmake_path(GET source FILENAME name)
  install(DIRECTORY ${source}/ DESTINATION taso/share/taso/${name} COMPONENT python
          FILES_MATCHING REGEX "\\.(rules|sets|experience|prices|onnx|json)$" PATTERN "networks" EXCLUDE)
endforeach()
install(FILES LICENSE DESTINATION taso/share/doc COMPONENT python)
foreach(licence IN LISTS third_party_licences)
  install(FILES /usr/share/doc/${licence}/copyright DESTINATION taso/share/doc/third-party RENAME ${licence}
          COMPONENT python)
endforeach()
