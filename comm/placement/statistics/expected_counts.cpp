// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/statistics/expected_counts.hpp"

#include "comm/placement/statistics/lookup_statistics.hpp"

namespace shardmark::placement {

PlanCounts expected_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                           std::int64_t samples, const IdStatistics& ids) {
  const LookupStatistics statistics(tables, features, ids);
  PlanCounts counts(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (const Shard& shard : counted_shards(plan.tables[t], tables[t]))
      counts[t].push_back(statistics.expected(static_cast<std::int64_t>(t), shard.rows, samples));
  return counts;
}

}  // namespace shardmark::placement
