// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Writes the plan as JSON, one line per table or shard:
///   {"format": "shardmark-plan/1", "name": ..., "ranks": 2, "tables": [
///     {"name": "C1", "data_parallel": true},
///     {"name": "C2", "shards": [{"rows": [begin, end, stride], "columns": [begin, end], "rank": 0}, ...]},
///     {"name": "C3", "storage": "tt", "hot_rows": 100, "shards": [...]}]}
/// "storage" (a name of `storages`) and "hot_rows" are written where the plan sets them. Whatever else a plan may set
/// later becomes a key of shardmark-plan/1 too, written only where it is set: a reader that does not know it refuses
/// the file rather than run another plan. A change of the meaning of a key takes another number. The plan must place
/// `tables` (one placement each).
std::string plan_to_json(const Plan& plan, std::span<const Table> tables);

/// Reads what plan_to_json writes; tables are matched by name and may come in any order. Throws InputError naming
/// `origin` (the file), table and shard when the text is no JSON, when a key is missing, unknown, repeated or of the
/// wrong type, when a table is missing, unknown or repeated. It does not check the placements: see check.hpp.
/// problems: where what is wrong with a table is added in place of an exception, so that all of it is known.
Plan plan_from_json(std::string_view text, std::string_view origin, std::span<const Table> tables,
                    std::vector<std::string>* problems = nullptr);

/// Returns 16 hexadecimal digits that stand for what a plan places where, whatever its name and the order of its tables
/// and shards: XXH3 (64 bits) of plan_to_json without the name, tables and shards sorted.
std::string plan_digest(const Plan& plan, std::span<const Table> tables);

}  // namespace shardmark::placement
