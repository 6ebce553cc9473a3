# SPDX-License-Identifier: Apache-2.0
# shardmark_embed_specs(HEADER files...): writes a header whose constexpr table `builtin_specs` {name, text} holds the
# JSON files, so that the installed program needs no data directory.
function(shardmark_embed_specs header)
  set(entries "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file STEM name)
    file(READ ${file} text)
    string(APPEND entries "    BuiltinSpec{\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  list(LENGTH ARGN count)
  file(CONFIGURE OUTPUT ${header} CONTENT [[
// SPDX-License-Identifier: Apache-2.0
// Generated from workloads/cases/specs/*.json.
#pragma once

#include <array>
#include <string_view>

namespace shardmark {

struct BuiltinSpec {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array<BuiltinSpec, @count@> builtin_specs{{
@entries@}};

}  // namespace shardmark
]] @ONLY)
endfunction()
