// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/search/budget.hpp"
#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

/// Steepest descent, table by table: of every table on a critical rank, and of one of each kind and option elsewhere,
/// the best of all moves of a seat to another rank and of all other options (so that tables are split, and merged);
/// where none improves, the best exchange of seats with another table. Until nothing improves, or the budget is spent.
void improve(SearchState& state, SearchBudget& budget);

}  // namespace shardmark::placement
