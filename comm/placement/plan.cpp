// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/plan.hpp"

#include <algorithm>

#include "reference/tensor_train/shape.hpp"

namespace shardmark {

Shard whole(const Table& table, int rank) {
  return {.rows = {0, table.rows, 1}, .column_begin = 0, .column_end = table.dim, .rank = rank};
}

std::string_view kind_of(const TablePlacement& placement) {
  if (placement.data_parallel) return "data_parallel";
  if (placement.shards.size() <= 1) return "table_wise";
  const Shard& first = placement.shards.front();
  const auto same_columns = [&](const Shard& shard) {
    return shard.column_begin == first.column_begin && shard.column_end == first.column_end;
  };
  const auto same_rows = [&](const Shard& shard) { return shard.rows == first.rows; };
  if (std::ranges::all_of(placement.shards, same_columns)) return "row_wise";
  if (std::ranges::all_of(placement.shards, same_rows)) return "column_wise";
  return "grid";
}

std::int64_t exchanged_row_sums(const Table& table, const TablePlacement& placement) {
  const bool split = std::ranges::any_of(placement.shards, [&](const Shard& s) { return s.columns() != table.dim; });
  return split ? row_sum_count(table.optimizer.kind) : 0;
}

RankLoad& RankLoad::operator+=(const RankLoad& other) {
  tables += other.tables;
  rows += other.rows;
  table_bytes += other.table_bytes;
  state_bytes += other.state_bytes;
  return *this;
}

namespace {

constexpr std::int64_t value_bytes = sizeof(float);

/// Cores and their state, and the rows that the cache holds, which have a state of their own where they are trained.
RankLoad load_of_cores(const Table& table) {
  const RowCache& cache = table.tensor_train.cache;
  RankLoad load{.tables = 1, .rows = table.rows, .table_bytes = cache.rows * table.dim * value_bytes};
  if (cache.writes == CacheWrites::trained)
    load.state_bytes = cache.rows * state_per_row(table.optimizer.kind, table.dim) * value_bytes;
  for (const Table& core : core_tables(table)) {
    load.table_bytes += core.rows * core.dim * value_bytes;
    load.state_bytes += core.rows * state_per_row(core.optimizer.kind, core.dim) * value_bytes;
  }
  return load;
}

}  // namespace

RankLoad load_of(const Shard& shard, const Table& table) {
  if (table.storage == Storage::tt) return load_of_cores(table);
  const std::int64_t rows = shard.rows.count();
  return {.tables = 1,
          .rows = rows,
          .table_bytes = rows * shard.columns() * value_bytes,
          .state_bytes = rows * state_per_row(table.optimizer.kind, shard.columns()) * value_bytes};
}

std::vector<RankLoad> loads_of(const Plan& plan, std::span<const Table> tables) {
  std::vector<RankLoad> loads(static_cast<std::size_t>(plan.ranks));
  for (std::size_t t = 0; t < plan.tables.size(); ++t) {
    if (plan.tables[t].data_parallel) {
      for (RankLoad& load : loads) load += load_of(whole(tables[t], 0), tables[t]);
      continue;
    }
    std::vector<int> holders;
    for (const Shard& shard : plan.tables[t].shards) {
      RankLoad part = load_of(shard, tables[t]);
      if (std::ranges::find(holders, shard.rank) != holders.end()) part.tables = 0;
      holders.push_back(shard.rank);
      loads[shard.rank] += part;
    }
  }
  return loads;
}

}  // namespace shardmark
