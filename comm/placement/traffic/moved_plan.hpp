// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/traffic/movement.hpp"

namespace shardmark::placement {

/// Combines a plan with how the data of its steps move: the functions of this folder compute bytes from it. The plan
/// must be sound (plan_check.hpp), and all its shards of a table with the same columns must together hold every row
/// that is not hot once. Plan, tables and features outlive the object.
struct MovedPlan {
  const Plan& plan;
  std::span<const Table> tables;
  std::span<const Feature> features;
  Movement movement = {};
  bool weighted = false;  ///< looked-up ids have a weight each
  Nodes nodes = {};       ///< none: every rank on its own

  Packing packing(Dedup dedup) const;
};

/// Names columns [begin, end) of a table.
struct TableColumns {
  std::int64_t table = 0;
  std::int64_t begin = 0, end = 0;

  auto operator<=>(const TableColumns&) const = default;
};

/// Lists the shards that have these columns, by their numbers in the placement.
struct ColumnShards {
  TableColumns columns;
  std::vector<std::int64_t> shards;

  /// Returns whether the rows are split; only there do transfers differ.
  bool row_split() const { return shards.size() > 1; }
};

/// Returns the shards by columns of the tables that features read, in the order of tables and columns.
std::vector<ColumnShards> column_shards(const MovedPlan& moved);

/// Returns what the samples of the counts look up in these shards.
HomeLookups lookups_in(const MovedPlan& moved, const ColumnShards& shards, int home, const PlanCounts& counts);

}  // namespace shardmark::placement
