// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Returns what is wrong with the plan. It is empty when there is one placement per table, 1 <= plan.ranks <=
/// largest_job, every rank is below plan.ranks, no shard is empty or leaves its table, and every cell of every table
/// that is not data_parallel is owned exactly once: cells of hot rows, which are fewer than all rows and go with shards
/// of whole rows, by all ranks, the others by one shard. There is one line per problem, which names table and rank, or
/// the first row and column that are missed or doubled.
///
/// The check is exact without visiting rows: row sets are arithmetic progressions, so in each strip of columns they
/// must be pairwise disjoint (Chinese remainder theorem) and their counts must add up to the rows of the table that are
/// not hot.
std::vector<std::string> check(const Plan& plan, std::span<const Table> tables);

/// Throws InputError with the first problem (and how many there are), prefixed by `where`, unless check() is empty.
void require_sound(const Plan& plan, std::span<const Table> tables, std::string_view where);

/// Returns the smallest row that is in both sets. Both need begin >= 0 and stride >= 1.
std::optional<std::int64_t> first_common_row(const RowSet& a, const RowSet& b);

}  // namespace shardmark::placement
