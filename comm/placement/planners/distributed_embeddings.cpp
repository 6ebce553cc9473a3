// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/distributed_embeddings.hpp"

#include <algorithm>

#include "comm/placement/planners/row_wise.hpp"
#include "comm/placement/planners/sliced_columns.hpp"

namespace shardmark::placement {
namespace {

/// Places the next rows / ranks + (k < rows mod ranks) rows of the table on rank k.
TablePlacement even_row_blocks(const Table& table, int ranks) {
  const auto begin_of = [&](int rank) {
    return rank * (table.rows / ranks) + std::min<std::int64_t>(rank, table.rows % ranks);
  };
  return split_rows({&table, 1}, ranks,
                    [&](const Table&, int rank) {
                      return RowSet{begin_of(rank), begin_of(rank + 1), 1};
                    })
      .front();
}

std::vector<TablePlacement> place_slices(SliceStrategy strategy, std::span<const Table> tables,
                                         std::span<const Feature> features, const PlanRequest& request) {
  const SlicedTables placed = slice_tables(tables, features,
                                           {.strategy = strategy,
                                            .ranks = request.ranks,
                                            .column_threshold = request.settings.maybe_whole("column_threshold", 1),
                                            .row_threshold = request.settings.maybe_whole("row_threshold", 1),
                                            .data_parallel_threshold = request.settings.maybe_whole("dp_threshold", 1),
                                            .merge = request.settings.on("merge")});
  std::vector<TablePlacement> placements(tables.size());
  for (const std::int64_t t : placed.data_parallel) placements[t].data_parallel = true;
  for (const std::int64_t t : placed.row) placements[t] = even_row_blocks(tables[t], request.ranks);
  for (int rank = 0; rank < request.ranks; ++rank)
    for (const ColumnPart& part : placed.parts[rank])
      placements[part.table].shards.push_back({{0, tables[part.table].rows, 1}, part.begin, part.end, rank});
  return placements;
}

}  // namespace

std::vector<TablePlacement> place_basic(std::span<const Table> tables, std::span<const Feature> features,
                                        const PlanRequest& request) {
  return place_slices(SliceStrategy::basic, tables, features, request);
}

std::vector<TablePlacement> place_memory_balanced(std::span<const Table> tables, std::span<const Feature> features,
                                                  const PlanRequest& request) {
  return place_slices(SliceStrategy::memory_balanced, tables, features, request);
}

std::vector<TablePlacement> place_memory_optimized(std::span<const Table> tables, std::span<const Feature> features,
                                                   const PlanRequest& request) {
  return place_slices(SliceStrategy::memory_optimized, tables, features, request);
}

}  // namespace shardmark::placement
