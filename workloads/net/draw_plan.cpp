// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/draw_plan.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "reference/storage.hpp"

namespace shardmark::workloads {
namespace {

/// `parts` + 1 ascending numbers from begin to end, with at least one between two neighbours.
std::vector<std::int64_t> draw_cuts(Draw& draw, std::int64_t begin, std::int64_t end, std::int64_t parts, bool even) {
  std::set<std::int64_t> cuts{begin, end};
  for (std::int64_t k = 1; even && k < parts; ++k) cuts.insert(begin + k * (end - begin) / parts);
  while (std::ssize(cuts) < parts + 1) cuts.insert(draw.whole(begin + 1, end - 1));
  return {cuts.begin(), cuts.end()};
}

/// Sets that are the rows [begin, end) together: blocks, or every n-th row, of which one set may be halved again.
std::vector<placement::RowSet> draw_row_sets(Draw& draw, std::int64_t begin, std::int64_t end, std::int64_t parts) {
  std::vector<placement::RowSet> sets;
  if (draw.chance(0.6)) {
    const auto cuts = draw_cuts(draw, begin, end, parts, draw.chance(0.4));
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) sets.push_back({cuts[k], cuts[k + 1], 1});
    return sets;
  }
  const bool halved = parts > 2 && end - begin >= 2 * parts && draw.chance(0.3);
  const std::int64_t stride = halved ? parts - 1 : parts;
  for (std::int64_t k = 0; k < stride; ++k) sets.push_back({begin + k, end, stride});
  if (!halved) return sets;
  sets.back() = {begin + stride - 1, end, 2 * stride};
  sets.push_back({begin + 2 * stride - 1, end, 2 * stride});
  return sets;
}

std::vector<int> draw_holders(Draw& draw, int ranks) {
  std::vector<int> holders(static_cast<std::size_t>(ranks));
  std::iota(holders.begin(), holders.end(), 0);
  std::ranges::shuffle(holders, draw.random());
  if (draw.chance(0.3)) holders.resize(static_cast<std::size_t>(draw.whole(1, ranks)));
  return holders;
}

void draw_shards(Draw& draw, const Table& table, std::vector<int> holders, placement::TablePlacement& placement) {
  if (!storage_of(table).splits) {
    placement.shards.push_back(placement::whole(table, draw.of(holders)));
    return;
  }
  if (table.rows > 1 && draw.chance(0.2)) placement.hot_rows = draw.log_whole(1, table.rows - 1);
  const std::int64_t hot = placement.hot_rows;
  const std::int64_t strips = hot > 0 || draw.chance(0.6) ? 1 : draw.whole(1, std::min<std::int64_t>(table.dim, 3));
  const auto columns = draw_cuts(draw, 0, table.dim, strips, draw.chance(0.3));
  for (std::size_t c = 0; c + 1 < columns.size(); ++c) {
    std::ranges::shuffle(holders, draw.random());
    const bool rows_stay = draw.chance(0.3);
    const std::int64_t most =
        std::min<std::int64_t>(table.rows - hot, std::ssize(holders) + (draw.chance(0.1) ? 1 : 0));
    const auto sets = draw_row_sets(draw, hot, table.rows, rows_stay ? 1 : draw.whole(1, most));
    for (std::size_t k = 0; k < sets.size(); ++k)
      placement.shards.push_back({sets[k], columns[c], columns[c + 1], holders[k % holders.size()]});
  }
}

}  // namespace

placement::Plan draw_plan(Draw& draw, const std::vector<Table>& tables, int ranks) {
  placement::Plan plan{.name = "drawn", .ranks = ranks, .tables = {}};
  const std::vector<int> holders = draw_holders(draw, ranks);
  for (const Table& table : tables) {
    placement::TablePlacement& placement = plan.tables.emplace_back();
    placement.data_parallel = draw.chance(0.2);
    if (!placement.data_parallel) draw_shards(draw, table, holders, placement);
  }
  return plan;
}

}  // namespace shardmark::workloads
