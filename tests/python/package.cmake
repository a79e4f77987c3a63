# Installs the package for Python into an environment of its own, and runs one of its tests there.
#   cmake -DSOURCE=. -DVENV=build/python -DCOMPILER=g++ -P package.cmake
#   cmake -DSOURCE=. -DVENV=build/python -DSUBJECT=numpy [-DMODULE=torch -DINSTALLED=build/torch]
#         [-DBINARY=build/release/kimesh] -P package.cmake
# Where MODULE is not in the environment, and there is no folder INSTALLED, the test is skipped.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ended with ${code}")
  endif()
endfunction()

set(python ${VENV}/bin/python)
if(NOT SUBJECT)
  # The compiler of the build that holds this test: its compiler cache then has the objects.
  run(${CMAKE_COMMAND} -E env CXX=${COMPILER} KIMESH_PYTHON_VENV=${VENV} bash ${SOURCE}/dev python)
  return()
endif()

if(MODULE)
  set(ENV{PYTHONPATH} ${INSTALLED})
  execute_process(COMMAND ${python} -c "import ${MODULE}" RESULT_VARIABLE absent
                  ERROR_VARIABLE why)
  if(absent AND EXISTS ${INSTALLED})
    message(FATAL_ERROR "${MODULE} of ${INSTALLED} does not load; remove the folder to skip this test:"
                        "\n${why}")
  elseif(absent)
    message("SKIPPED: ${MODULE} is neither in ${VENV} nor in ${INSTALLED}: ./dev test fetches it")
    return()
  endif()
endif()
run(${CMAKE_COMMAND} -E env KIMESH_BINARY=${BINARY} ${python} -B
    ${SOURCE}/tests/python/${SUBJECT}_test.py)
