// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/statistics/id_statistics.hpp"
#include "comm/placement/statistics/plan_counts.hpp"

namespace shardmark::placement {

/// Returns the expectation of exact_counts for that many samples: the LookupStatistics (lookup_statistics.hpp) of each
/// shard.
PlanCounts expected_counts(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                           std::int64_t samples, const IdStatistics& ids);

}  // namespace shardmark::placement
