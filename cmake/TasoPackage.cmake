# The Debian package, made by CPack from the component `taso`: scripts/build-deb.

if(NOT PROJECT_IS_TOP_LEVEL OR SKBUILD)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME taso)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "rewrites ONNX models into faster ones that compute the same")
set(CPACK_PACKAGE_DESCRIPTION
"taso-opt searches for a faster model with rewrite rules, taso-verify proves or
refutes rules, taso-gen finds new ones, and taso-bench runs models. libtaso is
a library that runs models on NVIDIA GPUs or on the host.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL taso)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The taso project" CACHE STRING "Who is named in the Debian package")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/packaging/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/packaging/compress.cmake)
# NVIDIA's libraries are loaded if they are there. They have other names in each version, and none of them is needed.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-onnx")
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
include(CPack)
