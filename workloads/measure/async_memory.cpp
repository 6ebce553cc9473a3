// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/async_memory.hpp"

namespace shardmark::workloads {

double most_flights(const Async& async) {
  if (!async.on()) return 1.0;
  if (async.inlined()) return 2.0;
  const std::int64_t threads = Async::most_threads(async.threads);
  return static_cast<double>(threads + async.room(threads) + 2 + (async.threads > 0 ? 0 : 1));
}

double patch_bytes(const comm::Communicator& comm, const placement::Plan& plan, const Workload& workload,
                   const Case& how) {
  if (how.async.mode != AsyncMode::patched || how.async.inlined()) return 0.0;
  double rows = 0.0, vectors = 0.0, bags = 0.0;
  const double batch = static_cast<double>(workload.global_batch);
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    const placement::TablePlacement& placement = plan.tables[t];
    if (placement::has_replicas(placement))
      rows += static_cast<double>(placement::replicated_rows(placement, workload.tables[t]).count());
    double features = 0.0;
    for (const Feature& feature : workload.features) features += feature.table == static_cast<std::int64_t>(t) ? 1 : 0;
    for (const placement::Shard& shard : placement.shards) {
      const double home = features * batch / plan.ranks, owner = shard.rank == comm.rank() ? features * batch : 0.0;
      if (shard.rank == comm.rank()) rows += static_cast<double>(shard.rows.count());
      bags += home + owner;
      vectors += (home + owner) * 4 * static_cast<double>(shard.columns());
    }
  }
  return 4 * rows +
         most_flights(how.async) * (vectors + 160 * bags);  // runs of bags, blocks, copies: lists of both ends
}

}  // namespace shardmark::workloads
