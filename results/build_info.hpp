// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace shardmark::results {

/// Says how this program was built. The git hash is empty where the sources were no git checkout.
struct BuildInfo {
  std::string_view version;   ///< of the project: "0.1.0"
  std::string_view git_hash;  ///< 40 hexadecimal digits
  bool dirty = false;         ///< a tracked file differed from that commit
  std::string_view compiler;  ///< "GNU 12.2.0"
  std::string_view flags;     ///< the user's and the build type's
  std::string_view type;      ///< "Release"
};

const BuildInfo& build_info();

}  // namespace shardmark::results
