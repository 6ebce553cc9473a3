// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/search/problem.hpp"
#include "comm/placement/search/seating.hpp"

namespace shardmark::placement {

/// Places tables by longest processing time first (Graham 1969): by falling load of their heaviest seats, each in the
/// option of its kind, on the ranks that have least.
std::vector<Placed> longest_first(const SearchProblem& problem, std::span<const int> option_of_kind, SeatOrder order);

/// Returns by kind the option of a whole table on one rank; where there is none, the one of `otherwise`.
std::vector<int> whole_tables(const SearchProblem& problem, std::span<const int> otherwise);

}  // namespace shardmark::placement
