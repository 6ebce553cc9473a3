// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places tables of at most request.replicate_rows rows on every rank; the others whole, dealt round robin among
/// themselves (generate_plan of the HugeCTR embedding collection notebook, whose limit is 6000).
inline std::vector<TablePlacement> place_data_parallel_table_wise(std::span<const Table> tables,
                                                                  std::span<const Feature>,
                                                                  const PlanRequest& request) {
  std::vector<TablePlacement> placements;
  std::int64_t dealt = 0;
  for (const Table& table : tables) {
    if (table.rows <= request.replicate_rows)
      placements.push_back({.data_parallel = true, .shards = {}});
    else
      placements.push_back(
          {.data_parallel = false, .shards = {whole(table, static_cast<int>(dealt++ % request.ranks))}});
  }
  return placements;
}

}  // namespace shardmark::placement
