// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/shard_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reference/sort_distinct.hpp"

namespace shardmark::workloads {
namespace {

using ColumnRange = std::pair<std::int64_t, std::int64_t>;

/// Returns the shards of one table by their columns, each list ordered by first row; every list must hold every row
/// that is not hot.
std::map<ColumnRange, std::vector<placement::Shard>> shards_by_columns(const placement::TablePlacement& placement,
                                                                       const Table& table) {
  std::map<ColumnRange, std::vector<placement::Shard>> strips;
  for (const placement::Shard& shard : placement.shards)
    strips[{shard.column_begin, shard.column_end}].push_back(shard);
  for (auto& [columns, shards] : strips) {
    std::ranges::sort(shards, {},
                      [](const placement::Shard& shard) { return std::pair(shard.rows.begin, shard.rank); });
    std::int64_t rows = 0;
    for (const placement::Shard& shard : shards) rows += shard.rows.count();
    if (rows != table.rows - placement.hot_rows)
      throw InputError(
          fmt::format("plan: the shards of table {} with columns {} to {} hold {} of its {} rows; shards may only "
                      "overlap in columns "
                      "when they have the same columns, so split the others",
                      table.name, columns.first, columns.second, rows, table.rows));
  }
  return strips;
}

auto order_of(const LocalShard& shard) { return std::tuple(shard.table, shard.column_begin, shard.rows.begin); }

std::int64_t local_number(const std::vector<LocalShard>& shards, std::int64_t table, const placement::Shard& shard) {
  const LocalShard wanted{.table = table, .rows = shard.rows, .column_begin = shard.column_begin};
  const auto found = std::ranges::find(shards, order_of(wanted), order_of);
  return found - shards.begin();
}

}  // namespace

ShardLayout::ShardLayout(const placement::Plan& plan, const std::vector<Table>& tables,
                         const std::vector<Feature>& features, int this_rank)
    : rank(this_rank), ranks(plan.ranks), served(features.size(), true) {
  std::vector<LocalShard> replicated;
  std::vector<std::map<ColumnRange, std::vector<placement::Shard>>> strips_of_table;
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const auto& table = tables[t];
    const auto& placement = plan.tables[t];
    strips_of_table.push_back(shards_by_columns(placement, table));
    if (placement::has_replicas(placement))
      replicated.push_back({.table = t,
                            .rows = placement::replicated_rows(placement, table),
                            .column_begin = 0,
                            .column_end = table.dim,
                            .replicated = true});
    for (const placement::Shard& shard : placement.shards)
      if (shard.rank == rank)
        shards.push_back({.table = t,
                          .rows = {shard.rows, table, t},
                          .column_begin = shard.column_begin,
                          .column_end = shard.column_end});
  }
  std::ranges::sort(shards, {}, order_of);

  for (std::int64_t f = 0; f < std::ssize(features); ++f) {
    const std::int64_t t = features[f].table;
    if (placement::has_replicas(plan.tables[t])) replicated_features.push_back(f);
    for (const auto& [columns, holders] : strips_of_table[t]) {
      for (const placement::Shard& shard : holders)
        slots.push_back({.strip = std::ssize(strips),
                         .feature = f,
                         .local_shard = shard.rank == rank ? local_number(shards, t, shard) : -1,
                         .rank = shard.rank,
                         .rows = {shard.rows, tables[t], t}});
      strips.push_back({.feature = f,
                        .column_begin = columns.first,
                        .column_end = columns.second,
                        .slots = {},
                        .hot_rows = plan.tables[t].hot_rows});
    }
  }
  std::ranges::stable_sort(slots, {}, &Slot::rank);
  for (int r = 0; r <= ranks; ++r)
    first_slot.push_back(std::ranges::lower_bound(slots, r, {}, &Slot::rank) - slots.begin());
  for (std::int64_t s = 0; s < std::ssize(slots); ++s) strips[slots[s].strip].slots.push_back(s);
  for (Strip& strip : strips) std::ranges::sort(strip.slots, {}, [&](std::int64_t s) { return slots[s].rows.begin; });

  shards.insert(shards.end(), replicated.begin(), replicated.end());
  for (std::int64_t s = 0; s < std::ssize(shards); ++s)
    if (shards[s].replicated) replicas.push_back(s);
  list_exchanged();
}

void ShardLayout::list_exchanged() {
  std::vector<std::int64_t> numbers;
  for (const Slot& slot : own_slots()) numbers.push_back(slot.local_shard);
  sort_distinct(numbers);
  exchanged.clear();
  exchanged_keys = 0;
  for (const std::int64_t s : numbers) {
    exchanged.push_back({s, exchanged_keys});
    exchanged_keys += shards[s].rows.most_places();
  }
}

std::vector<std::int64_t> ShardLayout::exchanged_numbers() const {
  std::vector<std::int64_t> numbers;
  for (const KeyedShard& keyed : exchanged) numbers.push_back(keyed.shard);
  return numbers;
}

std::int64_t ShardLayout::first_key(std::int64_t shard) const {
  return std::ranges::lower_bound(exchanged, shard, {}, &KeyedShard::shard)->first_key;
}

const KeyedShard& ShardLayout::exchanged_of(std::int64_t key) const {
  return *std::prev(std::ranges::upper_bound(exchanged, key, {}, &KeyedShard::first_key));
}

ShardLayout ShardLayout::of_tables(const std::vector<bool>& tables, const std::vector<bool>& features) const {
  ShardLayout part = *this;
  part.served = features;
  std::erase_if(part.replicas, [&](std::int64_t s) { return !tables[shards[s].table]; });
  std::erase_if(part.replicated_features, [&](std::int64_t f) { return !features[f]; });
  part.strips.clear();
  part.slots.clear();
  std::vector<std::int64_t> new_strip(strips.size(), -1), new_slot(slots.size(), -1);
  for (std::size_t s = 0; s < strips.size(); ++s) {
    if (!features[strips[s].feature]) continue;
    new_strip[s] = std::ssize(part.strips);
    part.strips.push_back(strips[s]);
  }
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (!features[slots[s].feature]) continue;
    new_slot[s] = std::ssize(part.slots);
    part.slots.push_back(slots[s]);
    part.slots.back().strip = new_strip[slots[s].strip];
  }
  for (Strip& strip : part.strips)
    for (std::int64_t& slot : strip.slots) slot = new_slot[slot];
  for (std::size_t r = 0; r < part.first_slot.size(); ++r)
    part.first_slot[r] =
        std::ranges::lower_bound(part.slots, static_cast<int>(r), {}, &Slot::rank) - part.slots.begin();
  part.list_exchanged();
  return part;
}

}  // namespace shardmark::workloads
