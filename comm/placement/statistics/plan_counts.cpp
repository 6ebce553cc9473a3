// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/statistics/plan_counts.hpp"

#include <algorithm>

#include "reference/sort_distinct.hpp"

namespace shardmark::placement {
namespace {

/// Adds the bags of one feature that reads the table of a shard with these rows.
void add_bags(const HeldRows& rows, const FeatureBags& bags, ShardCounts& counts) {
  counts.bags += static_cast<double>(bags.offsets.size() - 1);
  for (std::size_t b = 0; b + 1 < bags.offsets.size(); ++b) {
    std::int64_t held = 0;
    for (std::int64_t i = bags.offsets[b]; i < bags.offsets[b + 1]; ++i) held += rows.contains(bags.indices[i]);
    counts.ids += static_cast<double>(held);
    counts.touched_bags += held > 0;
  }
}

}  // namespace

std::vector<Shard> counted_shards(const TablePlacement& placement, const Table& table) {
  std::vector<Shard> shards = placement.shards;
  if (has_replicas(placement)) shards.push_back({replicated_rows(placement, table), 0, table.dim, 0});
  return shards;
}

std::vector<std::vector<std::int64_t>> named_rows(std::span<const Table> tables, std::span<const Feature> features,
                                                  std::span<const FeatureBags> bags) {
  std::vector<std::vector<std::int64_t>> rows(tables.size());
  for (std::size_t f = 0; f < features.size(); ++f) {
    const std::int64_t begin = bags[f].offsets.front(), end = bags[f].offsets.back();
    const auto ids = bags[f].indices.subspan(begin, end - begin);
    auto& of_table = rows[features[f].table];
    of_table.insert(of_table.end(), ids.begin(), ids.end());
  }
  for (auto& of_table : rows) sort_distinct(of_table);
  return rows;
}

PlanCounts counts_of_rows(const Plan& plan, std::span<const Table> tables,
                          std::span<const std::vector<std::int64_t>> rows) {
  PlanCounts counts(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const Shard& shard : counted_shards(plan.tables[t], tables[t])) {
      const HeldRows of_shard(shard.rows, tables[t], static_cast<std::int64_t>(t));
      const auto held = std::ranges::count_if(rows[t], [&](std::int64_t row) { return of_shard.contains(row); });
      counts[t].push_back({.distinct_rows = static_cast<double>(held)});
    }
  return counts;
}

PlanCounts exact_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                        std::span<const FeatureBags> bags) {
  PlanCounts counts = counts_of_rows(plan, tables, named_rows(tables, features, bags));
  for (std::size_t f = 0; f < features.size(); ++f) {
    const std::int64_t t = features[f].table;
    const auto shards = counted_shards(plan.tables[t], tables[t]);
    for (std::size_t s = 0; s < shards.size(); ++s)
      add_bags(HeldRows(shards[s].rows, tables[t], t), bags[f], counts[t][s]);
  }
  return counts;
}

}  // namespace shardmark::placement
