# LibTorch as two imported targets, torch_cpu and c10, from the folder KIMESH_LIBTORCH. The build and
# the installed package (component `torch`) both read this. The wheel's own find_package(Torch) asks
# for a whole CUDA toolkit; a program that found LibTorch in that way already keeps its targets.
# Sets KIMESH_TORCH_LIB, the folders that the loader needs.
set(torch_home ${KIMESH_LIBTORCH}/torch)  # as the wheels unpack it
if(NOT EXISTS ${torch_home}/lib/libtorch_cpu.so)
  set(torch_home ${KIMESH_LIBTORCH})  # as a libtorch archive does
endif()
set(KIMESH_TORCH_LIB ${torch_home}/lib ${KIMESH_LIBTORCH}/nvidia/cu13/lib)
set(KIMESH_TORCH_FOUND FALSE)
if(EXISTS ${torch_home}/lib/libtorch_cpu.so)
  set(KIMESH_TORCH_FOUND TRUE)
  if(NOT TARGET torch_cpu)
    add_library(c10 SHARED IMPORTED)
    set_target_properties(c10 PROPERTIES IMPORTED_LOCATION ${torch_home}/lib/libc10.so)
    add_library(torch_cpu SHARED IMPORTED)
    list(JOIN KIMESH_TORCH_LIB ":" torch_rpath_link)
    set_target_properties(torch_cpu PROPERTIES
      IMPORTED_LOCATION ${torch_home}/lib/libtorch_cpu.so
      INTERFACE_INCLUDE_DIRECTORIES
        "${torch_home}/include;${torch_home}/include/torch/csrc/api/include"
      INTERFACE_LINK_LIBRARIES c10
      INTERFACE_LINK_OPTIONS "-Wl,-rpath-link,${torch_rpath_link}")
  endif()
endif()
