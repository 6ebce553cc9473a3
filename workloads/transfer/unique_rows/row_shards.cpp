// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/row_shards.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardmark::workloads {

RowShards::RowShards(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<Feature>& features,
                     const std::vector<placement::RowTransfer>& modes, const std::vector<int>& places) {
  using Group = std::pair<std::int64_t, std::int64_t>;  // table, first column
  using Key =
      std::tuple<int, std::int64_t, std::int64_t, std::int64_t>;  // place of the rank, table, first column, first row
  const auto table_of = [&](const Strip& strip) { return features[strip.feature].table; };
  const auto slot_of = [&](std::int64_t s) -> const Slot& { return layout.slots[s]; };
  const auto key_of = [&](const Strip& strip, const Slot& slot) {
    return Key(places[slot.rank], table_of(strip), strip.column_begin, slot.rows.begin);
  };
  std::map<Group, std::int64_t> group_numbers;
  std::map<Key, const Slot*> slots;
  for (std::int64_t s = 0; s < std::ssize(layout.strips); ++s) {
    const Strip& strip = layout.strips[s];
    if (modes[s] != placement::RowTransfer::unique_rows) continue;
    strips.push_back(s);
    group_of_strip.push_back(
        group_numbers.emplace(Group(table_of(strip), strip.column_begin), std::ssize(group_numbers)).first->second);
    for (const std::int64_t slot : strip.slots)
      if (slot_of(slot).rows.count() > 0) slots.emplace(key_of(strip, slot_of(slot)), &slot_of(slot));
  }
  groups = std::ssize(group_numbers);
  std::map<Key, std::int64_t> numbers;
  for (const auto& [key, slot] : slots) {
    numbers.emplace(key, std::ssize(shards));
    shards.push_back({.rank = slot->rank,
                      .local_shard = slot->local_shard,
                      .group = group_numbers.at(Group(std::get<1>(key), std::get<2>(key))),
                      .dim = layout.dim_of(*slot),
                      .first_key = keys});
    key_bounds.push_back(keys);
    keys += slot->rows.count();
    largest_dim = std::max(largest_dim, shards.back().dim);
  }
  first_keys = kernels::array_of(Execution(), key_bounds, "shardmark::row_shard_keys");
  key_bounds.push_back(keys);
  kernels::RowPartition partition;
  for (const std::int64_t s : strips) {
    const Strip& strip = layout.strips[s];
    std::vector<kernels::OwnedRows> rows;
    for (const std::int64_t slot : strip.slots)
      if (const placement::RowSet& held = slot_of(slot).rows; held.count() > 0)
        rows.push_back({held.begin - strip.hot_rows, held.end - strip.hot_rows, held.stride,
                        numbers.at(key_of(strip, slot_of(slot)))});
    partition.add_strip(strip.feature, tables[table_of(strip)].rows - strip.hot_rows, rows);
  }
  owners = kernels::row_owners(Execution(), partition);
}

std::pair<std::int64_t, std::int64_t> RowShards::of_rank(int rank) const {
  const auto begin = std::ranges::find(shards, rank, &RowShard::rank) - shards.begin();
  return {begin, begin + std::ranges::count(shards, rank, &RowShard::rank)};
}

}  // namespace shardmark::workloads
