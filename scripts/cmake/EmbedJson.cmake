# SPDX-License-Identifier: Apache-2.0
# shardmark_embed_json(HEADER table Entry files...): writes a header whose constexpr table `table` of Entry {name, text}
# holds the JSON files, so that the installed program needs no data directory; in the namespace of the current folder.
function(shardmark_embed_json header table entry)
  set(entries "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file STEM name)
    file(READ ${file} text)
    string(APPEND entries "    ${entry}{\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  list(LENGTH ARGN count)
  list(GET ARGN 0 first)
  cmake_path(GET first PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME namespace)
  file(CONFIGURE OUTPUT ${header} CONTENT [[
// SPDX-License-Identifier: Apache-2.0
// Generated from @folder@/*.json.
#pragma once

#include <array>
#include <string_view>

namespace shardmark::@namespace@ {

struct @entry@ {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array<@entry@, @count@> @table@{{
@entries@}};

}  // namespace shardmark::@namespace@
]] @ONLY)
endfunction()
