// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Counts what some samples (of one rank, of the ranks of a node, or of all) look up in one shard, by all features that
/// read its table. Counts are exact, then they are whole numbers, which a double holds below 2^53; or expected.
struct ShardCounts {
  double bags = 0;           ///< whether they name a row of the shard or not (bags_per_sample)
  double ids = 0;            ///< that name rows of the shard
  double touched_bags = 0;   ///< with at least one such id
  double distinct_rows = 0;  ///< that such ids name

  bool operator==(const ShardCounts&) const = default;
};

/// Holds counts as [tables][shards of the table]. Where every rank has a copy of a data_parallel table or of hot rows,
/// the counts of these rows follow behind those of the shards, as of one more shard.
using PlanCounts = std::vector<std::vector<ShardCounts>>;

/// Returns the shards of a table as PlanCounts numbers them.
std::vector<Shard> counted_shards(const TablePlacement& placement, const Table& table);

/// Holds the ids of one feature in some samples: bag b has ids [offsets[b], offsets[b + 1]) of `indices`.
struct FeatureBags {
  std::span<const std::int64_t> offsets;  ///< [bags + 1], of reference::for_each_bag
  std::span<const std::int64_t> indices;
};

/// Returns the distinct rows of each table, ascending, that the samples name. bags: by feature.
std::vector<std::vector<std::int64_t>> named_rows(std::span<const Table> tables, std::span<const Feature> features,
                                                  std::span<const FeatureBags> bags);

/// Counts the ids of the samples. bags: by feature.
PlanCounts exact_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                        std::span<const FeatureBags> bags);

/// Counts distinct_rows alone, from the rows of each table that are named: by several ranks together, for example.
PlanCounts counts_of_rows(const Plan& plan, std::span<const Table> tables,
                          std::span<const std::vector<std::int64_t>> rows);

}  // namespace shardmark::placement
