// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Splits every table into at most min(ranks, rows) shards; rows_of(table, rank) returns the rows of each, which are
/// none where a rank has no shard.
template <class RowsOf>
std::vector<TablePlacement> split_rows(std::span<const Table> tables, int ranks, const RowsOf& rows_of) {
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    TablePlacement placement;
    for (int rank = 0; rank < std::min<std::int64_t>(ranks, table.rows); ++rank)
      if (const RowSet rows = rows_of(table, rank); rows.count() > 0)
        placement.shards.push_back({rows, 0, table.dim, rank});
    placements.push_back(std::move(placement));
  }
  return placements;
}

/// Places row r of every table on rank r mod ranks; rank k holds rows / ranks + (k < rows mod ranks) of them. (HugeCTR
/// calls this distributed.) Neighbouring, equally popular ids go to different ranks.
inline std::vector<TablePlacement> place_row_wise(std::span<const Table> tables, std::span<const Feature>,
                                                  const PlanRequest& request) {
  return split_rows(tables, request.ranks, [&](const Table& table, int rank) {
    return RowSet{rank, table.rows, request.ranks};
  });
}

/// Places row_block(rows, ranks, k) of every table on rank k, as TorchRec does. Unshuffled power-law ids put the
/// popular rows on rank 0.
inline std::vector<TablePlacement> place_row_wise_block(std::span<const Table> tables, std::span<const Feature>,
                                                        const PlanRequest& request) {
  return split_rows(tables, request.ranks,
                    [&](const Table& table, int rank) { return row_block(table.rows, request.ranks, rank); });
}

}  // namespace shardmark::placement
