# Installs the build into a folder of its own, and builds and runs every example against it, as
# somebody does who has no source of kimesh.
#   cmake -DBUILD=build/release -DEXAMPLES=examples -DSCRATCH=FOLDER [-DLAUNCHER=ccache]
#         -DCOMPILER=g++ -P package.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ended with ${code}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
file(GLOB lists ${EXAMPLES}/*/CMakeLists.txt)
if(NOT lists)
  message(FATAL_ERROR "there is no example in ${EXAMPLES}")
endif()
# The plugin needs no CMake: the command that its page shows, and the program of the install.
if(EXISTS ${SCRATCH}/prefix/bin/kimesh)
  file(COPY ${EXAMPLES}/plugin DESTINATION ${SCRATCH}/source)
  set(plugin ${SCRATCH}/source/plugin)
  foreach(written share/man/man1/kimesh.1 share/bash-completion/completions/kimesh)
    file(STRINGS ${SCRATCH}/prefix/${written} lines)
    list(LENGTH lines count)
    if(count LESS 50)
      message(FATAL_ERROR "${written} has ${count} lines")
    endif()
  endforeach()
  run(cc -O2 -Wall -Wextra -Werror -shared -fPIC -I ${SCRATCH}/prefix/include
      ${plugin}/least_squares.c -o ${plugin}/least_squares.so)
  run(${CMAKE_COMMAND} -E chdir ${plugin} ${SCRATCH}/prefix/bin/kimesh simulate
      --config config.yaml --topology topology.yaml)
endif()
foreach(list ${lists})
  get_filename_component(folder ${list} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  # A copy, so that nothing beside it can be included by accident.
  file(COPY ${folder} DESTINATION ${SCRATCH}/source)
  run(${CMAKE_COMMAND} -S ${SCRATCH}/source/${name} -B ${SCRATCH}/${name}
      -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
      "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
  run(${CMAKE_COMMAND} --build ${SCRATCH}/${name})
  run(${SCRATCH}/${name}/${name} ${folder}/config.yaml ${folder}/topology.yaml)
endforeach()
