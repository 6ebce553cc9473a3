// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/divided_plan.hpp"

#include <algorithm>

namespace shardmark::placement {
namespace {

std::int64_t divided(std::int64_t rows, std::int64_t scale) { return rows <= 0 ? rows : (rows - 1) / scale + 1; }

}  // namespace

Plan divided_plan(Plan plan, std::span<const Table> tables, std::int64_t scale) {
  for (std::size_t t = 0; t < std::min(plan.tables.size(), tables.size()); ++t) {
    TablePlacement& placement = plan.tables[t];
    const std::int64_t hot = placement.hot_rows;
    placement.hot_rows = std::min(divided(hot, scale), std::max<std::int64_t>(tables[t].rows - 1, 0));
    for (Shard& shard : placement.shards) {
      RowSet& rows = shard.rows;
      if (rows.stride == 1 && rows.begin != hot)
        rows.begin = divided(rows.begin, scale);
      else
        rows.begin += placement.hot_rows - hot;
      rows.end = divided(rows.end, scale);
    }
    std::erase_if(placement.shards,
                  [](const Shard& shard) { return shard.rows.stride >= 1 && shard.rows.count() == 0; });
  }
  return plan;
}

}  // namespace shardmark::placement
