// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/memory.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {

std::vector<double> table_bytes(const placement::Plan& plan, const std::vector<Table>& tables) {
  std::vector<double> bytes(static_cast<std::size_t>(plan.ranks));
  double copied = 0.0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (placement::has_replicas(plan.tables[t]))
      copied += storage_bytes(tables[t], placement::replicated_rows(plan.tables[t], tables[t]).count(), tables[t].dim);
    for (const placement::Shard& shard : plan.tables[t].shards)
      bytes[shard.rank] += storage_bytes(tables[t], shard.rows.count(), shard.columns());
  }
  for (double& of_rank : bytes) of_rank += copied;
  return bytes;
}

}  // namespace shardmark::workloads
