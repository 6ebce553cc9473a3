// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reference/error.hpp"
#include "reference/storage.hpp"
#include "reference/tensor_train/shape.hpp"

namespace shardmark::placement {

namespace {

std::int64_t state_bytes_per_row(const Table& table, std::int64_t columns) {
  return row_bytes(ValueType::fp32, state_per_row(table.optimizer.kind, columns));
}

}  // namespace

Shard whole(const Table& table, int rank) {
  return {.rows = {0, table.rows, 1}, .column_begin = 0, .column_end = table.dim, .rank = rank};
}

HeldRows::HeldRows(const RowSet& rows, const Table& table, std::int64_t number) : RowSet(rows) {
  if (!storage_of(table).comes_and_goes) return;
  buckets = KeyBuckets::of_table(number);
  table_rows = table.rows;
  room = table.most_rows();
  any_key = table.any_key;
}

std::int64_t HeldRows::most_rows() const {
  if (!buckets) return count();
  if (count() == table_rows) return room;
  std::int64_t held = 0;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket)
    held += RowSet::contains(row_of_bucket(bucket, table_rows)) ? 1 : 0;
  const double keys = static_cast<double>(room) * static_cast<double>(held) / key_buckets;
  return std::min(room, static_cast<std::int64_t>(keys + 8 * std::sqrt(keys)) + (held > 0 ? 32 : 0));
}

RowSet row_block(std::int64_t rows, std::int64_t blocks, std::int64_t k) {
  const std::int64_t most = (rows + blocks - 1) / blocks, begin = std::min(k * most, rows);
  return {begin, std::min(begin + most, rows), 1};
}

namespace {

/// This prefix stands before the kind of the shards.
constexpr std::string_view hot_prefix = "hot_rows+";

/// Returns the kind of the shards, with the prefix.
std::string_view hot_kind_of(const std::vector<Shard>& shards) {
  if (shards.size() <= 1) return "hot_rows+table_wise";
  const Shard& first = shards.front();
  const auto same_columns = [&](const Shard& shard) {
    return shard.column_begin == first.column_begin && shard.column_end == first.column_end;
  };
  const auto same_rows = [&](const Shard& shard) { return shard.rows == first.rows; };
  if (std::ranges::all_of(shards, same_columns)) return "hot_rows+row_wise";
  if (std::ranges::all_of(shards, same_rows)) return "hot_rows+column_wise";
  return "hot_rows+grid";
}

}  // namespace

std::string_view kind_of(const TablePlacement& placement) {
  if (placement.data_parallel) return "data_parallel";
  const std::string_view kind = hot_kind_of(placement.shards);
  return placement.hot_rows > 0 ? kind : kind.substr(hot_prefix.size());
}

RowSet replicated_rows(const TablePlacement& placement, const Table& table) {
  return {0, placement.data_parallel ? table.rows : placement.hot_rows, 1};
}

bool has_replicas(const TablePlacement& placement) { return placement.data_parallel || placement.hot_rows > 0; }

Table stored(Table table, const TablePlacement& placement) {
  table.storage = placement.storage.value_or(table.storage);
  return table;
}

std::vector<Table> stored(std::span<const Table> tables, const Plan& plan) {
  std::vector<Table> result(tables.begin(), tables.end());
  for (std::size_t t = 0; t < result.size(); ++t) result[t] = stored(std::move(result[t]), plan.tables[t]);
  return result;
}

std::int64_t exchanged_row_sums(const Table& table, const TablePlacement& placement) {
  const bool split = std::ranges::any_of(placement.shards, [&](const Shard& s) { return s.columns() != table.dim; });
  return split ? row_sum_count(table.optimizer.kind) : 0;
}

std::vector<std::vector<Shard>> shards_by_rows(const TablePlacement& placement) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<Shard>> by_rows;
  for (const Shard& shard : placement.shards)
    by_rows[{shard.rows.begin, shard.rows.end, shard.rows.stride}].push_back(shard);
  std::vector<std::vector<Shard>> result;
  for (auto& [rows, shards] : by_rows) {
    std::ranges::sort(shards, {}, &Shard::column_begin);
    result.push_back(std::move(shards));
  }
  return result;
}

RankLoad& RankLoad::operator+=(const RankLoad& other) {
  tables += other.tables;
  if (__builtin_add_overflow(rows, other.rows, &rows) ||
      __builtin_add_overflow(table_bytes, other.table_bytes, &table_bytes) ||
      __builtin_add_overflow(state_bytes, other.state_bytes, &state_bytes))
    throw InputError("the tables of one rank have more bytes than 64 bits count; use more ranks, or --scale");
  return *this;
}

double stored_bytes(const Table& table, std::int64_t rows, std::int64_t columns) {
  if (!storage_of(table).splits) return static_cast<double>(load_of(whole(table, 0), table).bytes());
  const std::int64_t row = storage_of(table).row_bytes(table, columns) + state_bytes_per_row(table, columns);
  return static_cast<double>(rows) * static_cast<double>(row);
}

namespace {

/// Throws InputError where 64 bits do not count them.
std::int64_t bytes_of_rows(const Table& table, std::int64_t rows, std::int64_t bytes_of_row) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, bytes_of_row, &bytes))
    throw InputError(
        fmt::format("table {}: {} rows of {} bytes are more bytes than 64 bits count; use fewer rows, or "
                    "--scale",
                    table.name, rows, bytes_of_row));
  return bytes;
}

/// Returns the load of rows and their state.
RankLoad load_of_rows(const Table& table, std::int64_t rows, std::int64_t columns) {
  return {.table_bytes = bytes_of_rows(table, rows, storage_of(table).row_bytes(table, columns)),
          .state_bytes = bytes_of_rows(table, rows, state_bytes_per_row(table, columns))};
}

}  // namespace

RankLoad load_of(const Shard& shard, const Table& table) {
  const StorageChoice& storage = storage_of(table);
  RankLoad load{.tables = 1, .rows = shard.rows.count()};
  if (storage.splits) return load += load_of_rows(table, shard.rows.count(), shard.columns());
  for (const Table& part : storage.parts(table)) load += load_of_rows(part, part.rows, part.dim);
  const Table cached = storage.cached_rows(table);
  return load += load_of_rows(cached, cached.rows, cached.dim);
}

std::vector<RankLoad> loads_of(const Plan& plan, std::span<const Table> tables) {
  std::vector<RankLoad> loads(static_cast<std::size_t>(plan.ranks));
  for (std::size_t t = 0; t < plan.tables.size(); ++t) {
    const TablePlacement& placement = plan.tables[t];
    const Table table = stored(tables[t], placement);
    if (has_replicas(placement)) {
      const RankLoad copy = load_of({replicated_rows(placement, table), 0, table.dim, 0}, table);
      for (RankLoad& load : loads) load += copy;
    }
    std::vector<int> holders;
    for (const Shard& shard : placement.shards) {
      RankLoad part = load_of(shard, table);
      if (has_replicas(placement) || std::ranges::find(holders, shard.rank) != holders.end()) part.tables = 0;
      holders.push_back(shard.rank);
      loads[shard.rank] += part;
    }
  }
  return loads;
}

}  // namespace shardmark::placement
