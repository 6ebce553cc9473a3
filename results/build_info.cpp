// SPDX-License-Identifier: Apache-2.0
#include "results/build_info.hpp"

#include "build_options.hpp"
#include "git_revision.hpp"

namespace shardmark::results {

const BuildInfo& build_info() {
  static constexpr BuildInfo info{
      .version = build_version,
      .git_hash = git_hash,
      .dirty = git_dirty,
      .compiler = build_compiler,
      .flags = build_flags,
      .type = build_type,
  };
  return info;
}

}  // namespace shardmark::results
