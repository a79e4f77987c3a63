# The libraries that kimesh is linked with. The build and the installed package (kimeshConfig.cmake)
# both read this list, so that a program finds what the libraries were built with. Headers-only
# libraries and what tests need stand in CMakeLists.txt: no program that uses kimesh needs those.
include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(fmt)
find_dependency(yaml-cpp)
find_dependency(hwy)
if(KIMESH_METRICS)
  find_dependency(prometheus-cpp)
endif()

# Libraries that ship no CMake package everywhere: target, header, library.
foreach(plain "kimesh_zmq zmq.h zmq" "kimesh_xxhash xxhash.h xxhash")
  separate_arguments(plain)
  list(POP_FRONT plain target header library)
  if(NOT TARGET ${target})
    find_path(${target}_INCLUDE_DIR ${header})
    find_library(${target}_LIBRARY ${library})
    mark_as_advanced(${target}_INCLUDE_DIR ${target}_LIBRARY)
    if(NOT ${target}_INCLUDE_DIR OR NOT ${target}_LIBRARY)
      set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
      set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
          "${header} or the library ${library} is missing: install the development package of it.")
      return()
    endif()
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION ${${target}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE_DIR})
  endif()
endforeach()

# cpp-httplib is a library of its own on Debian, whose structs depend on what it was built with:
# pkg-config knows the definitions.
if(KIMESH_WEB AND NOT TARGET kimesh_httplib)
  find_dependency(PkgConfig)
  pkg_check_modules(kimesh_cpp_httplib QUIET IMPORTED_TARGET cpp-httplib)
  if(NOT TARGET PkgConfig::kimesh_cpp_httplib)
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE
        "cpp-httplib is missing: install the development package of it.")
    return()
  endif()
  add_library(kimesh_httplib INTERFACE IMPORTED)
  target_link_libraries(kimesh_httplib INTERFACE PkgConfig::kimesh_cpp_httplib)
endif()
