// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/statistics/id_statistics.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"
#include "comm/placement/statistics/plan_counts.hpp"

namespace shardmark::placement {

/// Returns the expectation of exact_counts for that many samples: the LookupStatistics (lookup_statistics.hpp) of each
/// shard.
inline PlanCounts expected_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                                  std::int64_t samples, const IdStatistics& ids) {
  const LookupStatistics statistics(tables, features, ids);
  PlanCounts counts(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const Shard& shard : counted_shards(plan.tables[t], tables[t]))
      counts[t].push_back(statistics.expected(static_cast<std::int64_t>(t), shard.rows, samples));
  return counts;
}

}  // namespace shardmark::placement
