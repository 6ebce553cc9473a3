// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Writes what EmbeddingCollectionConfig.shard of HugeCTR v4.2 and later takes, as JSON:
///   {"shard_matrix": [["A", "B"], ["A", "C"], ["A", "C"]],
///    "shard_strategy": [["mp", ["B", ["C", 2]]], ["dp", ["A"]]]}
/// The matrix lists by rank the names of the tables that it holds, the strategy by kind the names of tables, "mp" ones
/// also with a column factor f. Among n ranks that hold a table, f divides n and its columns: with r = n / f, the k-th
/// of them holds the rows that are k mod r modulo r of column block k / r (split_column_wise_sharding_config of HugeCTR
/// 2f2016fa). "dp" is a copy on every rank. As in a HugeCTR plan file, ranks beyond the rows of a table hold nothing of
/// it. A file may also have compression_strategy, which is ignored: --transfer sets how rows travel.
std::string plan_to_shard_matrix(const Plan& plan, std::span<const Table> tables);

/// Reads the plan, called `name`. Throws InputError naming `origin` (the file) and table where the text is not as
/// above, or does not place every table.
Plan plan_from_shard_matrix(std::string_view text, std::string_view origin, std::string_view name,
                            std::span<const Table> tables);

}  // namespace shardmark::placement
