# Runs one file of Python tests: cmake -DFILE=… -DMARK=… -DBUILD=… [-DPYTHON=…] -P RunPytest.cmake
# If the packages for the tests are missing, it prints SKIPPED, and ctest counts the test as skipped.

set(source ${CMAKE_CURRENT_LIST_DIR}/..)
foreach(candidate IN ITEMS ${PYTHON} ${BUILD}/venv/bin/python ${source}/build/venv/bin/python)
  if(EXISTS "${candidate}")
    set(python "${candidate}")
    break()
  endif()
endforeach()
if(NOT python)
  message("SKIPPED: no virtual environment for the Python tests; scripts/test makes one in the build folder")
  return()
endif()
execute_process(
  COMMAND ${python} -m pytest -q -p no:cacheprovider -m "${MARK}" "${FILE}"
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "pytest ended with ${result}")
endif()
