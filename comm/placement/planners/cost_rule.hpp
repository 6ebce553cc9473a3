// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"

namespace shardmark::placement {

/// Places tables of at most `hint` rows, or of no more rows than ranks, on every rank; row r of the others on rank r
/// mod ranks (cost-based sharding of HybridBackend, commit ecf0dd6). The hint is meant as the distinct ids that a rank
/// names in a step; there it is the batch size.
std::vector<TablePlacement> place_cost_rule(std::span<const Table> tables, std::span<const Feature> features,
                                            const PlanRequest& request);

inline constexpr std::array cost_rule_settings{
    PlannerSetting{"hint", "", "tables of at most so many rows are on every rank; off: the samples of a rank"},
};

/// Places tables by the bytes that a rank sends in a step: a table of N rows of d values is on every rank where
///   2 N d s <= U (d (s_f + s_b) + i),
/// s = 4 bytes of a gradient that is summed over all ranks, in a ring; U distinct rows that the samples of a rank name,
/// in expectation; s_f and s_b bytes of a value on its way forward and back, i of an id. Both sides lack the factor
/// (ranks - 1) / ranks. With U = hint and fp32 everywhere it is cost_rule but for the ids: N <= U (1 + i / (2 d s)).
std::vector<TablePlacement> place_cost_rule_bytes(std::span<const Table> tables, std::span<const Feature> features,
                                                  const PlanRequest& request);

}  // namespace shardmark::placement
