// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/placement/search/budget.hpp"
#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

/// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) until the budget is spent: seats move, tables exchange seats
/// or take another option, half of the time those of a critical rank. What makes the step slower by d is taken with
/// probability exp(-d / T), T falling from 2e-2 to 1e-5 of the step; what lacks more memory never. Leaves the best plan
/// that it saw.
void anneal(SearchState& state, SearchBudget& budget, std::uint64_t seed);

}  // namespace shardmark::placement
