// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Describes the spelling of a plan file of HugeCTR's embedding collection, v3.7 to v4.0. Such a file is a JSON array
/// with one entry per rank, each an array of groups {local_embedding_list, global_embedding_list,
/// table_placement_strategy[, shard count, shard id]}. The numbers in a list are lookups, which are our features in
/// order. "dp" is data_parallel; the model-parallel strategy is table_wise with count 1 and row_wise modulo n with
/// count n.
struct HugectrSpelling {
  std::string_view name;
  std::string_view description;
  const char* model_parallel;  ///< name of the model-parallel strategy
  const char* shard_count;     ///< key
  const char* shard_id;        ///< key
};

inline constexpr std::array hugectr_spellings{
    HugectrSpelling{"hugectr-v3.7", "HugeCTR tag v3.7: localized, num_sharding, sharding_id", "localized",
                    "num_sharding", "sharding_id"},
    HugectrSpelling{"hugectr-notebook", "HugeCTR embedding collection notebook: mp, num_sharding, sharding_id", "mp",
                    "num_sharding", "sharding_id"},
    HugectrSpelling{"hugectr-v3.8", "HugeCTR v3.8 to v4.0: mp, shards_count, shard_id", "mp", "shards_count",
                    "shard_id"},
};

/// Holds what a plan file is checked against.
struct HugectrContext {
  std::span<const Table> tables;
  std::span<const Feature> lookups;
  std::optional<int> ranks = {};                    ///< without it, the file's own number
  std::optional<std::int64_t> bytes_per_rank = {};  ///< memory for tables and optimizer state (rule 18)
  std::optional<std::int64_t> global_batch = {};    ///< must divide evenly (rule 19)
  std::span<const std::int64_t> id_spaces = {};     ///< HugeCTR's id_space per table; without it, the position
};

/// A HugectrProblem is a broken rule. Ranks, groups, lookups and tables that do not apply are -1.
struct HugectrProblem {
  int rule = 0;
  bool only_hugectr = false;  ///< a limit of HugeCTR's implementation: meaningful, and we run it
  std::int64_t rank = -1;
  std::int64_t group = -1;
  std::int64_t lookup = -1;
  std::int64_t table = -1;
  std::string text;

  std::string line() const;  ///< "rule 7: rank 0, group 1, lookup 2: ..."
};

/// Returns all broken rules of the file `text`, by rule. A problem that makes the rest unreadable hides later ones.
///  1 required keys present and of the right type      11 (limit) dp: no two lookups of a table, no pooling none
///  2 shard id < shard count                           12 id spaces are 0..T-1; (limit) one optimizer, SGD in v3.7
///  3 dp has shard count 1                             13 shard id >= 0, shard count >= 1
///  4 the strategy is known                            14 one entry per rank, in the file and in global lists
///  5 every rank has equally many groups               15 lookups are 0..L-1
///  6 a group has one strategy                         16 every lookup is in one group, every table has one
///  7 local list = the rank's entry of the global      17 lookups that share a table are placed alike
///    list, without repetition                         18 tables and optimizer state fit the rank's memory
///  8 a group has one global list                      19 the global batch divides by the ranks
///  9 dp: the same local list on every rank            20 a group has one spelling
/// 10 mp: ranks with equal lists form a shard set 0..n-1; different lists share no lookup; (limit) also the empty list
/// HugeCTR checks 1 to 12; the others are ours. Throws InputError naming `origin` when the text is no JSON array.
std::vector<HugectrProblem> check_hugectr_plan(std::string_view text, std::string_view origin,
                                               const HugectrContext& context);

/// Returns the plan that the file means, called `name`. Throws InputError with the first broken rule that is not only
/// HugeCTR's.
Plan plan_from_hugectr(std::string_view text, std::string_view origin, std::string_view name,
                       const HugectrContext& context);

/// Writes the plan as such a file. Lookups of small sets of ranks share groups; idle ranks get empty lists. Throws
/// InputError naming the table when the format cannot express it: column shards, blocks of rows, several shards of a
/// table on a rank, or a table without lookup.
std::string plan_to_hugectr(const Plan& plan, std::span<const Table> tables, std::span<const Feature> lookups,
                            const HugectrSpelling& spelling);

}  // namespace shardmark::placement
