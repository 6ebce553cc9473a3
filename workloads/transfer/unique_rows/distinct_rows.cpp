// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/distinct_rows.hpp"

#include "kernels/bag_lengths.hpp"

namespace shardmark::workloads {

void DistinctRows::find(const ConstDeviceArray<std::int64_t>& keys, bool repeated) {
  const Execution exec;
  unique_ = kernels::unique_rows<Execution>(exec, keys, shards_.keys, workspace_);
  if (repeated) {
    unique_.segments = each_.first(unique_.positions() + 1);
    kernels::count_up(exec, unique_.segments);
    Kokkos::deep_copy(exec, unique_.total, unique_.positions());
  }
  first_row_ = segments_(unique_);
  packed_begin_.assign(1, 0);
  packed_rows_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(shards_.shards); ++s) {
    const RowShard& shard = shards_.shards[s];
    packed_rows_.host.push_back({shard.first_key, shard.dim, first_row(s), packed_begin(s)});
    packed_begin_.push_back(packed_begin(s) + rows(s) * shard.dim);
  }
  packed_ = packed_rows_.array();
}

}  // namespace shardmark::workloads
