// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/search/problem.hpp"

namespace shardmark::placement {

/// Seconds of the fastest plan of the proposed options that fits the memory, by branch and bound over every option and
/// every choice of ranks of every table: the tables one after the other, the largest first; branches end where neither
/// the maxima so far nor the mean of all ranks can become less than the best plan known. Ranks that hold equal parts of
/// one node are tried once; so are seats that are equal. Exact to 1e-9; infinity where nothing fits. For up to about 12
/// tables on 4 ranks. at_most: seconds of a known plan.
double fastest_plan(const SearchProblem& problem, double at_most);

}  // namespace shardmark::placement
