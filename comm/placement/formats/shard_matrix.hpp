// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// What EmbeddingCollectionConfig.shard of HugeCTR v4.2 and later takes, as JSON:
///   {"shard_matrix": [["A", "B"], ["A", "C"], ["A", "C"]],
///    "shard_strategy": [["mp", ["B", ["C", 2]]], ["dp", ["A"]]]}
/// By rank the names of the tables that it holds; by strategy the names of tables, "mp" ones also with a column factor
/// f. Of n ranks that hold a table, f divides n and its columns: with r = n / f, the k-th of them holds the rows that
/// are k mod r modulo r of column block k / r (split_column_wise_sharding_config of HugeCTR 2f2016fa). "dp" is a copy
/// on every rank. As in a HugeCTR plan file, ranks beyond the rows of a table hold nothing of it. compression_strategy
/// may stand beside: how rows travel is asked for with --transfer.
std::string plan_to_shard_matrix(const Plan& plan, std::span<const Table> tables);

/// The plan, called `name`. Throws InputError naming `origin` (the file) and table where the text is not as above, or
/// does not place every table.
Plan plan_from_shard_matrix(std::string_view text, std::string_view origin, std::string_view name,
                            std::span<const Table> tables);

}  // namespace shardmark::placement
