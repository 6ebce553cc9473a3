# SPDX-License-Identifier: Apache-2.0
# shardmark_build_info: the headers build_options.hpp and git_revision.hpp, for the few files that say how they were built.
# The commit is looked up at each build; the header changes, and those files are compiled again, only when it does.
find_package(Git QUIET)
block()
set(folder ${PROJECT_BINARY_DIR}/generated/build_info)
add_custom_target(shardmark_git_revision
  COMMAND ${CMAKE_COMMAND} -D GIT=${GIT_EXECUTABLE} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${folder}/git_revision.hpp
          -P ${CMAKE_CURRENT_LIST_DIR}/git_revision.cmake
  BYPRODUCTS ${folder}/git_revision.hpp
  VERBATIM)
add_library(shardmark_build_info INTERFACE)
add_dependencies(shardmark_build_info shardmark_git_revision)
target_include_directories(shardmark_build_info INTERFACE ${folder})

string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" flags)
file(CONFIGURE OUTPUT ${folder}/build_options.hpp @ONLY ESCAPE_QUOTES CONTENT [[
#pragma once

#include <string_view>

namespace shardmark {
inline constexpr std::string_view build_version = "@PROJECT_VERSION@";
inline constexpr std::string_view build_compiler = "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@";
inline constexpr std::string_view build_flags = "@flags@";
inline constexpr std::string_view build_type = "@CMAKE_BUILD_TYPE@";
}  // namespace shardmark
]])
endblock()
