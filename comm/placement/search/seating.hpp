// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

enum class SeatOrder { seconds, memory };

/// Returns ranks for the seats of an option of a table: the heaviest seats on the ranks of the least load; for an
/// option within a node, on the node whose ranks have the least load together; for one in order, all in that order.
std::vector<int> lightest(const SearchProblem& problem, std::int64_t table, int option, std::span<const double> loads);

/// Returns such ranks by what ranks have without the table.
std::vector<int> light_ranks(const SearchState& state, std::int64_t table, int option, SeatOrder order);

/// Returns all ranks but those that, like the rank of their node before them, hold nothing.
std::vector<int> different_ranks(const SearchState& state);

}  // namespace shardmark::placement
