# SPDX-License-Identifier: Apache-2.0
# Runs `command`, which must end within 20 s, with exit code 2 and one line of ours on stderr, from rank `reporter`.
execute_process(COMMAND ${command} TIMEOUT 20 RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_QUIET)
string(REGEX MATCHALL "shardmark: [^\n]*" lines "${text}")
if(NOT code STREQUAL "2")
  message(FATAL_ERROR "exit code ${code}, expected 2\n${text}")
endif()
list(LENGTH lines count)
if(NOT count EQUAL 1 OR NOT lines MATCHES "^shardmark: rank ${reporter} \\([^)]+\\): bad input$")
  message(FATAL_ERROR "expected one line of rank ${reporter}, found ${count}: ${lines}\n${text}")
endif()
