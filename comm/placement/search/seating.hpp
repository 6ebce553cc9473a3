// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

enum class SeatOrder { seconds, memory };

/// Ranks for the seats of an option of a table: the heaviest seats on the ranks of the least load; of an option within
/// a node, on the node that has least of them.
std::vector<int> lightest(const SearchProblem& problem, std::int64_t table, int option, std::span<const double> loads);

/// The same by what ranks have without the table.
std::vector<int> light_ranks(const SearchState& state, std::int64_t table, int option, SeatOrder order);

/// All ranks but those that hold nothing like their neighbours before them.
std::vector<int> different_ranks(const SearchState& state);

}  // namespace shardmark::placement
