// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/formats/hugectr_plan_file.hpp"

namespace shardmark::placement {

/// Holds one group of one rank, whatever its spelling.
struct HugectrGroup {
  std::vector<std::int64_t> local;                ///< lookups of this rank
  std::vector<std::vector<std::int64_t>> global;  ///< [rank] that list of every rank
  std::string strategy;
  std::int64_t shard_count = 1;
  std::int64_t shard_id = 0;

  bool data_parallel() const { return strategy == "dp"; }
};

using HugectrGroups = std::vector<std::vector<HugectrGroup>>;  ///< [rank][group]

/// Reads the groups; adds the problems of rule 1 and 20 to `problems`. After a problem of rule 1 the result is not
/// complete. Throws InputError when the text is no JSON array.
HugectrGroups parse_hugectr_groups(std::string_view text, std::string_view origin,
                                   std::vector<HugectrProblem>& problems);

std::string hugectr_groups_to_json(const HugectrGroups& groups, const HugectrSpelling& spelling);

/// Returns the ranks that share a local list, by that list: the shard sets of group g (of one list for dp). Idle ranks
/// are in the entry of the empty list.
std::map<std::vector<std::int64_t>, std::vector<int>> holders_of_lists(const HugectrGroups& groups, std::size_t g);

/// Says where a lookup's table lives: on every rank, or split modulo ranks.size() with shard s on ranks[s].
struct LookupPlacement {
  bool data_parallel = false;
  std::vector<int> ranks;

  bool operator==(const LookupPlacement&) const = default;
};

/// Returns the placements of lookups 0 .. lookups - 1, from groups without errors.
std::vector<LookupPlacement> placements_of_lookups(const HugectrGroups& groups, std::size_t lookups);

/// Does what check_hugectr_plan does, on groups that were read without a problem of rule 1.
void check_hugectr_groups(const HugectrGroups& groups, const HugectrContext& context,
                          std::vector<HugectrProblem>& problems);

/// Returns the placements that groups without errors mean.
Plan plan_from_groups(const HugectrGroups& groups, std::string_view name, const HugectrContext& context);

}  // namespace shardmark::placement
