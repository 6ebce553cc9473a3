// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/search/state.hpp"

namespace shardmark::placement {

enum class SeatOrder { seconds, memory };

/// Returns ranks for the seats of an option of a table: the heaviest seats on the ranks of the least load; seats that
/// are on one node together on that whose ranks have the least load together; for an option in order, all in that
/// order.
std::vector<int> lightest(const SearchProblem& problem, std::int64_t table, int option, std::span<const double> loads);

/// Returns such ranks by what ranks have without the table.
std::vector<int> light_ranks(const SearchState& state, std::int64_t table, int option, SeatOrder order);

/// This is the number of ranks to which a seat is tried to be moved, by their seconds and by their memory.
inline constexpr std::ptrdiff_t ranks_tried = 64;

/// Returns ranks to which seats may be moved: all but those that, like the rank of their node before them, hold
/// nothing; where these are more than ranks_tried, so many that have least seconds, and least memory where it is
/// limited.
std::vector<int> ranks_to_try(const SearchState& state);

}  // namespace shardmark::placement
