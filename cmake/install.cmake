# What `cmake --install` puts where, and the package that find_package(kimesh) reads. Two export
# sets: what needs LibTorch stands alone, so that a program without it never looks for it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(KIMESH_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kimesh)

# kimesh_install(TARGET EXPORT SET NAME ALIAS): one exported target, kimesh::ALIAS.
function(kimesh_install target set alias)
  add_library(kimesh::${alias} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${alias})
  install(TARGETS ${target} EXPORT ${set} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# kimesh_install_package(LAYERS...): called once, when all layers are known.
function(kimesh_install_package)
  set(plain "")
  foreach(layer ${ARGN})
    if(layer STREQUAL "train")
      kimesh_install(kimesh_train kimeshTorchTargets train)
    else()
      kimesh_install(kimesh_${layer} kimeshTargets ${layer})
      list(APPEND plain kimesh_${layer})
    endif()
  endforeach()
  add_library(kimesh_kimesh INTERFACE)
  target_link_libraries(kimesh_kimesh INTERFACE ${plain})
  kimesh_install(kimesh_kimesh kimeshTargets kimesh)
  install(EXPORT kimeshTargets NAMESPACE kimesh:: DESTINATION ${KIMESH_PACKAGE_DIR})
  if(TARGET kimesh_train)
    add_library(kimesh_torch INTERFACE)
    target_link_libraries(kimesh_torch INTERFACE kimesh_kimesh kimesh_train)
    kimesh_install(kimesh_torch kimeshTorchTargets torch)
    install(EXPORT kimeshTorchTargets NAMESPACE kimesh:: DESTINATION ${KIMESH_PACKAGE_DIR})
  endif()

  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kimeshConfig.cmake.in
    ${PROJECT_BINARY_DIR}/kimeshConfig.cmake INSTALL_DESTINATION ${KIMESH_PACKAGE_DIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/kimeshConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/kimeshConfig.cmake
                ${PROJECT_BINARY_DIR}/kimeshConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/kimeshDependencies.cmake
                ${PROJECT_SOURCE_DIR}/cmake/kimeshTorch.cmake
          DESTINATION ${KIMESH_PACKAGE_DIR})
endfunction()

# Installs what the program writes with these words of a command line as `file` of the prefix.
function(kimesh_install_written words file)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${file} NAME)
  string(REPLACE " " ";" words "${words}")
  set(written ${PROJECT_BINARY_DIR}/written/${folder}/${name})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/written/${folder})
  add_custom_command(OUTPUT ${written} COMMAND kimesh ${words} > ${written} DEPENDS kimesh VERBATIM)
  string(MAKE_C_IDENTIFIER ${file} target)
  add_custom_target(write_${target} ALL DEPENDS ${written})
  install(FILES ${written} DESTINATION ${folder})
endfunction()
