# SPDX-License-Identifier: Apache-2.0
# cmake -D GIT=... -D SOURCE=... -D OUTPUT=... -P git_revision.cmake
# Writes the commit of the checkout SOURCE to the header OUTPUT, which is touched only when its text changes: a new
# commit recompiles one file.
set(hash "")
set(dirty false)

function(git_answer variable)
  set(answer "")
  if(GIT)
    execute_process(COMMAND ${GIT} --no-optional-locks ${ARGN} WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE answer
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

# Sources unpacked inside somebody else's checkout do not take that one's commit.
git_answer(prefix rev-parse --show-prefix)
git_answer(hash rev-parse --verify HEAD)
if(hash AND prefix STREQUAL "")
  git_answer(changes status --porcelain --untracked-files=no)
  if(changes)
    set(dirty true)
  endif()
else()
  set(hash "")
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#pragma once

#include <string_view>

namespace shardmark {
inline constexpr std::string_view git_hash = "@hash@";
inline constexpr bool git_dirty = @dirty@;
}  // namespace shardmark
]])
