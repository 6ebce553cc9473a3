// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

bool rows_may_travel(RowTransfer transfer) {
  return transfer == RowTransfer::unique_rows || transfer == RowTransfer::automatic;
}

/// What a storage that keeps whole tables asks of their placement. Throws what its parts throw, too.
void require_whole_table(const std::string& plan, const TablePlacement& placement, const Table& table) {
  const StorageChoice& storage = storage_of(table);
  storage.parts(table);
  if (storage.computes() && table.value_type == ValueType::int8)
    throw InputError(
        fmt::format("table {}: storage {} computes rows from parts, which are not kept as int8; use fp32, fp16 or bf16",
                    table.name, storage.name));
  if (placement.shards.size() > 1 || placement.hot_rows > 0)
    throw InputError(
        fmt::format("plan {} splits table {} {}, but storage {} keeps its {} rows together; place it data_parallel or "
                    "table_wise",
                    plan, table.name, kind_of(placement), storage.name, table.rows));
  const Table cached = storage.cached_rows(table);
  if (placement.data_parallel && cached.rows > 0 && cached.optimizer.kind != OptimizerKind::none)
    throw InputError(
        fmt::format("plan {} replicates table {}, but its cache of {} rows is trained, and so would differ "
                    "from rank to rank; use {}.cache_writes read_only, no cache, or table_wise",
                    plan, table.name, cached.rows, storage.name));
}

/// What a storage whose rows come and go asks of their placement.
void require_one_place(const std::string& plan, const TablePlacement& placement, const Table& table) {
  const StorageChoice& storage = storage_of(table);
  if (has_replicas(placement))
    throw InputError(
        fmt::format("plan {} replicates {} of table {}, but rows of storage {} come and go in one place; place it "
                    "table_wise or row_wise",
                    plan, placement.data_parallel ? "all rows" : fmt::format("{} rows", placement.hot_rows), table.name,
                    storage.name));
  const bool by_columns =
      std::ranges::any_of(placement.shards, [&](const Shard& shard) { return shard.columns() < table.dim; });
  if (by_columns && table.dynamic.eviction.kind == EvictionKind::l2)
    throw InputError(fmt::format(
        "plan {} splits table {} by columns, but evict l2 takes the norm of whole rows; use another plan or "
        "another evict",
        plan, table.name));
}

/// What a table whose keys are any asks of its storage.
void require_keys(const Table& table) {
  if (!table.any_key || storage_of(table).comes_and_goes) return;
  throw InputError(
      fmt::format("table {}: its keys are any of the 2^64 integers (rows -1, or id_rule raw), for which storage {} has "
                  "no rows; use --storage "
                  "dynamic, or give the rows",
                  table.name, storage_of(table).name));
}

/// Where partial sums of row shards of the same columns are added on their way: one of each rank, in fp32.
void require_sums(const Plan& plan, std::size_t number, const Table& table, const Movement& movement) {
  const auto transfer = name_of(movement.transfer);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> holders;  // by columns
  for (const Shard& shard : plan.tables[number].shards)
    holders[{shard.column_begin, shard.column_end}].push_back(shard.rank);
  for (auto& [columns, ranks] : holders) {
    if (ranks.size() < 2) continue;
    std::ranges::sort(ranks);
    if (const auto twice = std::ranges::adjacent_find(ranks); twice != ranks.end())
      throw InputError(
          fmt::format("plan {}: rank {} holds two row shards of the same columns of table {}, of which transfer {} "
                      "would add one; use transfer dense_partials or another plan",
                      plan.name, *twice, table.name, transfer));
    for (const ValueType type : {movement.wire.forward, movement.wire.backward})
      if (type != ValueType::fp32)
        throw InputError(
            fmt::format("transfer {}: the partial sums of row-split tables are added in fp32, not in wire type {}; use "
                        "--wire fp32, dense_partials or a plan that splits no rows",
                        transfer, name_of(type)));
  }
}

/// An optimizer that sums over whole rows gets the sums of all their columns, which are cut at the same rows.
void require_whole_rows(const Plan& plan, std::size_t number, const Table& table) {
  const TablePlacement& placement = plan.tables[number];
  if (exchanged_row_sums(table, placement) == 0) return;
  for (const auto& shards : shards_by_rows(placement)) {
    std::int64_t columns = 0;
    for (const Shard& shard : shards) columns += shard.columns();
    if (columns != table.dim)
      throw InputError(
          fmt::format("plan {}: table {} uses {}, which needs the same row split in every column range, but the rows "
                      "from {} on are cut differently; use the same rows or an element-wise optimizer",
                      plan.name, table.name, name_of(table.optimizer.kind), shards.front().rows.begin));
  }
}

void require_dedup(const Movement& movement) {
  if (movement.dedup != Dedup::automatic && movement.dedup != Dedup::off && !rows_may_travel(movement.transfer))
    throw InputError(
        fmt::format("dedup {}: transfer {} sends pooled vectors, not rows; use transfer unique_rows or auto",
                    name_of(movement.dedup), name_of(movement.transfer)));
}

void require_trainable(const Table& table) {
  if (table.value_type == ValueType::int8 && table.optimizer.kind != OptimizerKind::none)
    throw InputError(fmt::format("table {}: int8 rows can be looked up but not trained by {}; use --optimizer none",
                                 table.name, name_of(table.optimizer.kind)));
}

/// Max pooling needs whole bags where it pools.
void require_whole_bags(const Plan& plan, const Feature& feature, const Table& table, const Movement& movement) {
  if (feature.pooling != Pooling::max) return;
  const TablePlacement& placement = plan.tables[static_cast<std::size_t>(feature.table)];
  if (placement.hot_rows > 0)
    throw InputError(
        fmt::format("plan {} copies the first {} rows of table {} to every rank, but feature {} pools by max, whose "
                    "gradient goes to the largest row of the whole bag; parts of bags, pooled from hot rows and from "
                    "others, are added: use a plan without hot_rows",
                    plan.name, placement.hot_rows, table.name, feature.name));
  if (rows_may_travel(movement.transfer)) return;
  if (std::ranges::any_of(placement.shards, [&](const Shard& s) { return s.rows.count() < table.rows; }))
    throw InputError(
        fmt::format("plan {} splits table {} by rows, but feature {} pools by max, whose gradient goes to "
                    "the largest row of the whole bag; {} adds parts of bags: use transfer unique_rows, or a plan that "
                    "keeps its rows together",
                    plan.name, table.name, feature.name, name_of(movement.transfer)));
}

/// Calls check(require) for each of the rules; `require` throws InputError where it is broken.
template <class Check>
void for_each_rule(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                   const Movement& movement, const Check& check) {
  check([&] { require_dedup(movement); });
  if (adds_on_the_way(movement.transfer))
    for (const Feature& feature : features)
      check([&] { require_sums(plan, feature.table, tables[feature.table], movement); });
  for (const Table& table : tables) check([&] { require_trainable(table); });
  for (std::size_t t = 0; t < tables.size(); ++t) check([&] { require_whole_rows(plan, t, tables[t]); });
  const std::vector<Table> stored_tables = stored(tables, plan);
  for (const Table& table : stored_tables) check([&] { require_keys(table); });
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (!storage_of(stored_tables[t]).splits)
      check([&] { require_whole_table(plan.name, plan.tables[t], stored_tables[t]); });
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (storage_of(stored_tables[t]).comes_and_goes)
      check([&] { require_one_place(plan.name, plan.tables[t], stored_tables[t]); });
  for (const Feature& feature : features)
    check([&] { require_whole_bags(plan, feature, tables[feature.table], movement); });
}

}  // namespace

void require_supported(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                       const Movement& movement) {
  for_each_rule(plan, tables, features, movement, [](const auto& require) { require(); });
}

std::vector<std::string> unsupported(const Plan& plan, const std::vector<Table>& tables,
                                     const std::vector<Feature>& features, const Movement& movement) {
  std::vector<std::string> problems;
  for_each_rule(plan, tables, features, movement, [&](const auto& require) {
    try {
      require();
    } catch (const InputError& error) {
      if (std::ranges::find(problems, error.what()) == problems.end()) problems.emplace_back(error.what());
    }
  });
  return problems;
}

}  // namespace shardmark::placement
