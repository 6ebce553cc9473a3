// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/divided_plan.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace shardmark::placement {
namespace {

std::int64_t divided(std::int64_t rows, std::int64_t scale) { return rows <= 0 ? rows : (rows - 1) / scale + 1; }

/// Cuts the rows of the table as TorchRec does where the shards of the whole one were so cut, each block of columns by
/// itself; otherwise changes nothing.
void cut_as_torchrec(std::vector<Shard>& shards, const std::vector<Shard>& whole, std::int64_t scale) {
  std::map<std::int64_t, std::vector<std::size_t>> by_columns;
  for (std::size_t s = 0; s < whole.size(); ++s) by_columns[whole[s].column_begin].push_back(s);
  for (auto& [column, blocks] : by_columns) {
    std::ranges::sort(blocks, {}, [&](std::size_t s) { return whole[s].rows.begin; });
    for (std::size_t k = 0; k < blocks.size(); ++k)
      if (whole[blocks[k]].rows != row_block(whole[blocks.back()].rows.end, std::ssize(blocks), static_cast<int>(k)))
        return;
  }
  for (const auto& [column, blocks] : by_columns)
    for (std::size_t k = 0; k < blocks.size(); ++k)
      shards[blocks[k]].rows =
          row_block(divided(whole[blocks.back()].rows.end, scale), std::ssize(blocks), static_cast<int>(k));
}

}  // namespace

Plan divided_plan(Plan plan, std::span<const Table> tables, std::int64_t scale) {
  for (std::size_t t = 0; t < std::min(plan.tables.size(), tables.size()); ++t) {
    TablePlacement& placement = plan.tables[t];
    const std::vector<Shard> whole = placement.shards;
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
    if (hot == 0) cut_as_torchrec(placement.shards, whole, scale);
    std::erase_if(placement.shards,
                  [](const Shard& shard) { return shard.rows.stride >= 1 && shard.rows.count() == 0; });
  }
  return plan;
}

}  // namespace shardmark::placement
