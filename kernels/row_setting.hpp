// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardmark::kernels {

/// Says how many rows before their use rows are prefetched, first into the second-level cache and then (0: not) into
/// the first, how many rows a thread takes at a time, and whether only every other line is prefetched into the
/// second-level cache.
struct RowSetting {
  std::int64_t far;
  std::int64_t near;
  std::int64_t grain;
  bool in_pairs = false;
};

}  // namespace shardmark::kernels
