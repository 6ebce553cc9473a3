// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// What some samples (of one rank, of the ranks of a node, or of all) look up in one shard, by all features that read
/// its table. Exact, then whole numbers, which a double holds below 2^53; or expected.
struct ShardCounts {
  double bags = 0;           ///< whether they name a row of the shard or not; without pooling a bag per id of the table
  double ids = 0;            ///< that name rows of the shard
  double touched_bags = 0;   ///< with at least one such id
  double distinct_rows = 0;  ///< that such ids name

  bool operator==(const ShardCounts&) const = default;
};

/// [tables][shards of the table]; behind them, of what every rank has a copy of, as of one shard: a data_parallel table
/// whole, or the hot rows.
using PlanCounts = std::vector<std::vector<ShardCounts>>;

/// The shards of a table as PlanCounts numbers them.
std::vector<Shard> counted_shards(const TablePlacement& placement, const Table& table);

/// The ids of one feature in some samples: bag b holds ids [offsets[b], offsets[b + 1]) of `indices`.
struct FeatureBags {
  std::span<const std::int64_t> offsets;  ///< [bags + 1]; a bag per id for Pooling::none
  std::span<const std::int64_t> indices;
};

/// Different rows of each table, ascending, that the samples name. bags: by feature.
std::vector<std::vector<std::int64_t>> named_rows(std::span<const Table> tables, std::span<const Feature> features,
                                                  std::span<const FeatureBags> bags);

/// Counted from the ids of the samples. bags: by feature.
PlanCounts exact_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                        std::span<const FeatureBags> bags);

/// distinct_rows alone, of the rows of each table that are named: by several ranks together, for example.
PlanCounts counts_of_rows(const Plan& plan, std::span<const Table> tables,
                          std::span<const std::vector<std::int64_t>> rows);

}  // namespace shardmark::placement
