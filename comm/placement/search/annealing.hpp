// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/placement/search/budget.hpp"
#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

/// Runs simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) until the budget is spent: seats move, tables exchange
/// seats or take another option, half of the time those of a critical rank. A change that makes the step slower by d is
/// taken with probability exp(-d / T), T falling from 2e-2 to 1e-5 of the step; one that lacks more memory never is. It
/// leaves the best plan that it saw.
void anneal(SearchState& state, SearchBudget& budget, std::uint64_t seed);

}  // namespace shardmark::placement
