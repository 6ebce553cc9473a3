// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Makes a store of Storage::dense: every row lies in memory, one behind the other, in huge pages where the system has
/// them. shards: numbers in the layout; layout and tables outlive the store.
std::unique_ptr<Store> make_dense_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                        const std::vector<std::int64_t>& shards);

}  // namespace shardmark::workloads
