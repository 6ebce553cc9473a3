# SPDX-License-Identifier: Apache-2.0
# Installs what find_package(shardmark) needs: targets, version, and the search for the dependencies of this build.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shardmark)
configure_file(${CMAKE_CURRENT_LIST_DIR}/shardmarkConfig.cmake.in ${PROJECT_BINARY_DIR}/shardmarkConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shardmarkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS shardmark)
# What `shardmark results plot` and `data import` start, at one place beside the program in builds and where it is installed.
set(started_scripts scripts/python scripts/columns.py scripts/measured/plots.py scripts/measured/pictures.py)
foreach(script IN LISTS started_scripts)
  cmake_path(GET script PARENT_PATH folder)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/${script} DESTINATION share/shardmark/${folder})
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/shardmark)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/scripts ${PROJECT_BINARY_DIR}/share/shardmark/scripts SYMBOLIC)
install(EXPORT shardmark NAMESPACE shardmark:: FILE shardmarkTargets.cmake DESTINATION ${package_dir})
install(FILES
  ${PROJECT_BINARY_DIR}/shardmarkConfig.cmake
  ${PROJECT_BINARY_DIR}/shardmarkConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/Dependencies.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindNCCL.cmake
  DESTINATION ${package_dir})
