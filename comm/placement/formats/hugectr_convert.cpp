// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "comm/placement/formats/cannot_express.hpp"
#include "comm/placement/formats/hugectr_groups.hpp"
#include "reference/named.hpp"

namespace shardmark::placement {
namespace {

constexpr int unknown_rank = -1;

/// The ranks of shards 0 .. n-1 of a table split modulo n; unknown_rank for shards without rows.
using ShardSet = std::vector<int>;

constexpr std::string_view plan_file = "a HugeCTR plan file";

ShardSet shard_set_of(const TablePlacement& placement, const Table& table, int ranks) {
  const std::int64_t count = placement.shards.front().rows.stride;
  if (count > ranks)
    cannot_express(plan_file, table,
                   fmt::format("a split modulo {} over {} ranks: each shard needs a rank of its own", count, ranks));
  ShardSet set(static_cast<std::size_t>(count), unknown_rank);
  for (const Shard& shard : placement.shards) {
    if (shard.column_begin != 0 || shard.column_end != table.dim)
      cannot_express(plan_file, table,
                     fmt::format("columns {} to {} on rank {}: it has no column split", shard.column_begin,
                                 shard.column_end, shard.rank));
    const RowSet modulo{shard.rows.begin, table.rows, count};
    if (shard.rows.begin >= count || shard.rows.stride != count || shard.rows.count() != modulo.count())
      cannot_express(plan_file, table,
                     fmt::format("rows {} to {}, stride {}, on rank {}: it splits rows modulo a count only",
                                 shard.rows.begin, shard.rows.end, shard.rows.stride, shard.rank));
    if (std::ranges::find(set, shard.rank) != set.end())
      cannot_express(plan_file, table, fmt::format("two shards of one table on rank {}", shard.rank));
    set[shard.rows.begin] = shard.rank;
  }
  return set;
}

/// Returns whether `full` has the same ranks wherever `partial` knows one.
bool completes(const ShardSet& full, const ShardSet& partial) {
  return std::ranges::equal(full, partial, [](int a, int b) { return a == b || b == unknown_rank; });
}

/// Gives a rank to every shard without rows: those of a set that another table has, or else unused ranks in order.
void complete(ShardSet& set, const std::set<ShardSet>& known, int ranks) {
  const auto same = std::ranges::find_if(known, [&](const ShardSet& full) { return completes(full, set); });
  if (same != known.end()) {
    set = *same;
    return;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto empty = std::ranges::find(set, unknown_rank);
    if (empty == set.end()) return;
    if (std::ranges::find(set, rank) == set.end()) *empty = rank;
  }
}

std::vector<ShardSet> shard_sets_of(const Plan& plan, std::span<const Table> tables) {
  std::vector<ShardSet> sets(tables.size());
  std::set<ShardSet> known;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (plan.tables[t].data_parallel) continue;
    sets[t] = shard_set_of(plan.tables[t], tables[t], plan.ranks);
    if (std::ranges::find(sets[t], unknown_rank) == sets[t].end()) known.insert(sets[t]);
  }
  for (ShardSet& set : sets) {
    complete(set, known, plan.ranks);
    known.insert(set);
  }
  return sets;
}

/// A shard set and the lookups whose tables are placed so. data_parallel: no ranks.
struct PlacedLookups {
  ShardSet set;
  std::vector<std::int64_t> lookups;
};

std::vector<PlacedLookups> placed_lookups(const std::vector<ShardSet>& sets, std::span<const Feature> lookups) {
  std::vector<PlacedLookups> placed;
  for (std::int64_t id = 0; id < std::ssize(lookups); ++id) {
    const ShardSet& set = sets[lookups[id].table];
    auto entry = std::ranges::find(placed, set, &PlacedLookups::set);
    if (entry == placed.end()) entry = placed.insert(entry, {set, {}});
    entry->lookups.push_back(id);
  }
  return placed;
}

/// Adds group number g with strategy dp or mp to every rank, empty so far.
void add_group(HugectrGroups& groups, const char* strategy) {
  for (auto& rank : groups) {
    rank.emplace_back();
    rank.back().strategy = strategy;
  }
}

/// Puts the lookups into the first model-parallel group in which all ranks of the set are idle.
void place_model_parallel(HugectrGroups& groups, const PlacedLookups& placed) {
  const auto idle_in = [&](std::size_t g) {
    return std::ranges::all_of(placed.set, [&](int rank) { return groups[rank][g].local.empty(); });
  };
  std::size_t g = 0;
  while (g < groups.front().size() && !idle_in(g)) ++g;
  if (g == groups.front().size()) add_group(groups, "mp");
  for (std::size_t shard = 0; shard < placed.set.size(); ++shard) {
    HugectrGroup& group = groups[placed.set[shard]][g];
    group.local = placed.lookups;
    group.shard_count = std::ssize(placed.set);
    group.shard_id = static_cast<std::int64_t>(shard);
  }
}

void fill_global_lists(HugectrGroups& groups) {
  for (std::size_t g = 0; g < groups.front().size(); ++g) {
    std::vector<std::vector<std::int64_t>> global;
    for (const auto& rank : groups) global.push_back(rank[g].local);
    for (auto& rank : groups) rank[g].global = global;
  }
}

}  // namespace

std::vector<LookupPlacement> placements_of_lookups(const HugectrGroups& groups, std::size_t lookups) {
  std::vector<LookupPlacement> placements(lookups);
  for (std::size_t g = 0; g < groups.front().size(); ++g) {
    for (const auto& [list, holders] : holders_of_lists(groups, g)) {
      LookupPlacement placement{.data_parallel = groups.front()[g].data_parallel(), .ranks = holders};
      std::ranges::stable_sort(placement.ranks, {}, [&](int rank) { return groups[rank][g].shard_id; });
      for (const std::int64_t id : list) placements[id] = placement;
    }
  }
  return placements;
}

Plan plan_from_groups(const HugectrGroups& groups, std::string_view name, const HugectrContext& context) {
  Plan plan{.name = std::string(name), .ranks = static_cast<int>(groups.size()), .tables = {}};
  plan.tables.resize(context.tables.size());
  const auto placed = placements_of_lookups(groups, context.lookups.size());
  for (std::size_t id = 0; id < placed.size(); ++id) {
    const auto t = static_cast<std::size_t>(context.lookups[id].table);
    const Table& table = context.tables[t];
    plan.tables[t] = {.data_parallel = placed[id].data_parallel, .shards = {}};
    if (placed[id].data_parallel) continue;
    const auto count = std::ssize(placed[id].ranks);
    for (std::int64_t shard = 0; shard < std::min<std::int64_t>(count, table.rows); ++shard)
      plan.tables[t].shards.push_back({{shard, table.rows, count}, 0, table.dim, placed[id].ranks[shard]});
  }
  return plan;
}

std::string plan_to_hugectr(const Plan& plan, std::span<const Table> tables, std::span<const Feature> lookups,
                            const HugectrSpelling& spelling) {
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const TablePlacement& placement = plan.tables[t];
    if (std::ranges::find(lookups, t, &Feature::table) == lookups.end())
      cannot_express(plan_file, tables[t], "a table that no lookup reads");
    require_plain(plan_file, tables[t], placement);
  }
  HugectrGroups groups(static_cast<std::size_t>(plan.ranks));
  const auto placed = placed_lookups(shard_sets_of(plan, tables), lookups);
  for (const PlacedLookups& entry : placed)
    if (!entry.set.empty()) place_model_parallel(groups, entry);
  for (const PlacedLookups& entry : placed) {
    if (!entry.set.empty()) continue;
    add_group(groups, "dp");
    for (auto& rank : groups) rank.back().local = entry.lookups;
  }
  fill_global_lists(groups);
  return hugectr_groups_to_json(groups, spelling);
}

}  // namespace shardmark::placement
