// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "comm/placement/cost/strip_work.hpp"

namespace shardmark::placement {
namespace {

/// Adds what the holders of different columns of the same rows exchange: their sums over these.
void add_row_sums(const TableSums& sums, std::map<int, RankWork>& owners) {
  const std::int64_t count = exchanged_row_sums(sums.table, sums.placement);
  if (count == 0) return;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Shard*>> holders;
  for (const Shard& shard : sums.placement.shards) holders[{shard.rows.begin, shard.rows.end}].push_back(&shard);
  for (const auto& [rows, shards] : holders) {
    const double distinct =
        sums.step.statistics.expected(sums.number, shards.front()->rows, sums.step.global_batch).distinct_rows;
    for (const Shard* from : shards) {
      const auto elsewhere = std::ranges::count_if(shards, [&](const Shard* to) { return to->rank != from->rank; });
      owners[from->rank].row_sums += 8.0 * static_cast<double>(count * elsewhere) * distinct;
    }
  }
}

}  // namespace

TableWork work_without_strips(const TableSums& sums) {
  const TablePlacement& placement = sums.placement;
  TableWork work;
  std::map<int, RankWork> owners;
  if (has_replicas(placement)) add_replicas(sums, replicated_rows(placement, sums.table), work);
  for (const Shard& shard : placement.shards)
    owners[shard.rank].memory += stored_bytes(sums.table, shard.rows.count(), shard.columns());
  if (sums.features > 0.0) add_row_sums(sums, owners);
  TableSums::add_buffer(work.everywhere, own_id_bytes(sums.own_ids));
  TableSums::add_buffer(work.everywhere, sums.own_ids * sums.bytes_of_max_gradient());
  work.at.assign(owners.begin(), owners.end());
  return work;
}

TableWork table_work(const StepContext& step, const MachineModel& machine, std::int64_t t,
                     const TablePlacement& placement) {
  const TableSums sums(step, machine, t, placement);
  TableWork work = work_without_strips(sums);
  std::map<int, RankWork> ranks(work.at.begin(), work.at.end());
  for (const auto& [columns, shards] : shards_by_columns(placement)) {
    if (sums.features == 0.0) break;
    const RowTransfer transfer =
        transfer_of(step, t, shards, home_lookups(step, t, shards, step.samples()), sums.packing);
    std::vector<int> holders;
    for (const Shard* shard : shards) holders.push_back(shard->rank);
    const Nodes& nodes = sums.packing.nodes;
    std::vector<bool> adds;
    if (transfer == RowTransfer::node_partials) adds = nodes_that_add(nodes, holders);
    const StripParts<RankWork> parts = strip_parts(sums, shards, transfer, senders_of(nodes, holders, adds));
    work.everywhere += parts.everywhere;
    work.totals += parts.totals;
    add_to_ranks(parts, nodes, StripOwners(shards).ranks, adds,
                 [&](int rank, const RankWork& part) { ranks[rank] += part; });
  }
  work.at.assign(ranks.begin(), ranks.end());
  return work;
}

}  // namespace shardmark::placement
