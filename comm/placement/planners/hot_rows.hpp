// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"

namespace shardmark::placement {

inline constexpr std::array hot_rows_settings{
    PlannerSetting{"mass", "0.5",
                   "share of a table's lookups that its hot rows take, at most --replicate-rows of them"},
    PlannerSetting{"rows", "", "so many hot rows of each table instead, whatever they take"},
};

/// Places tables of at most request.replicate_rows rows on every rank; of the others the hot rows, the first ones, on
/// every rank, and the remaining rows by row modulo ranks. Where popular rows lie at the beginning of a table, few
/// copied rows keep most ids from travelling to another rank (frequent and infrequent categories in HugeCTR's hybrid
/// embedding; the hot embeddings of FAE, Adnan et al. 2022).
inline std::vector<TablePlacement> place_hot_rows(std::span<const Table> tables, std::span<const Feature> features,
                                                  const PlanRequest& request) {
  const double mass = request.settings.number("mass");
  const auto rows = request.settings.maybe_whole("rows");
  const LookupStatistics statistics(tables, features, request.ids);
  std::vector<TablePlacement> placements;
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const Table& table = tables[t];
    TablePlacement& placement = placements.emplace_back();
    placement.data_parallel = table.rows <= request.replicate_rows;
    if (placement.data_parallel) continue;
    const std::int64_t most = std::min(rows.value_or(request.replicate_rows), table.rows - 1);
    placement.hot_rows = rows ? most : std::min(most, statistics.hot_rows(t, mass));
    for (std::int64_t k = 0; k < std::min<std::int64_t>(request.ranks, table.rows - placement.hot_rows); ++k)
      placement.shards.push_back(
          {{placement.hot_rows + k, table.rows, request.ranks}, 0, table.dim, static_cast<int>(k)});
  }
  return placements;
}

}  // namespace shardmark::placement
