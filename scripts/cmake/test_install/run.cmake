# SPDX-License-Identifier: Apache-2.0
# Installs the build into a fresh prefix, looks at what stands there, and builds and runs the consumer with it.
# Needs: build, config, consumer, compiler, flags, version.
set(prefix ${build}/test_install/prefix)
file(REMOVE_RECURSE ${build}/test_install)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --config ${config} --prefix ${prefix}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB includes RELATIVE ${prefix}/include ${prefix}/include/*)
if(NOT includes STREQUAL shardmark)
  message(FATAL_ERROR "include/ must hold the folder shardmark and nothing else, but has: ${includes}")
endif()
execute_process(COMMAND ${prefix}/bin/shardmark --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "^shardmark ${version} ")
  message(FATAL_ERROR "shardmark --version must name version ${version}, but says: ${said}")
endif()
foreach(script python columns.py measured/plots.py measured/pictures.py) # of data import and results plot
  if(NOT EXISTS ${prefix}/share/shardmark/scripts/${script})
    message(FATAL_ERROR "share/shardmark/scripts/${script} is not installed")
  endif()
endforeach()

execute_process(COMMAND ${CMAKE_CTEST_COMMAND}
  --build-and-test ${consumer} ${build}/test_install/build --build-generator Ninja
  --build-options -Dshardmark_ROOT=${prefix} -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_CXX_FLAGS=${flags}
    -DCMAKE_BUILD_TYPE=${config}
  --test-command consumer
  COMMAND_ERROR_IS_FATAL ANY)
