// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/search/budget.hpp"
#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

/// Improves the plan by steepest descent, table by table, until nothing improves or the budget is spent. For every
/// table on a critical rank, and for one of each kind and option elsewhere, it takes the best of all moves of a seat to
/// another rank and of all other options (so that tables are split, and merged); where none improves, the best exchange
/// of seats with another table.
void improve(SearchState& state, SearchBudget& budget);

}  // namespace shardmark::placement
