# SPDX-License-Identifier: Apache-2.0
# Runs `command`, which must end within 20 s, with exit code `code` and one line of ours on stderr,
# from rank `reporter`: `line`, a regular expression.
execute_process(COMMAND ${command} TIMEOUT 20 RESULT_VARIABLE found_code ERROR_VARIABLE text OUTPUT_QUIET)
string(REPLACE ";" "," text "${text}") # a list of CMake would end there
string(REGEX MATCHALL "shardmark: [^\n]*" lines "${text}")
if(NOT found_code STREQUAL code)
  message(FATAL_ERROR "exit code ${found_code}, expected ${code}\n${text}")
endif()
list(LENGTH lines count)
if(NOT count EQUAL 1 OR NOT lines MATCHES "^shardmark: rank ${reporter} \\([^)]+\\): ${line}$")
  message(FATAL_ERROR "expected one line of rank ${reporter}, found ${count}: ${lines}\n${text}")
endif()
