// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/search/problem.hpp"

namespace shardmark::placement {

/// Holds the seconds that no plan of the options of the problem, wherever their seats are, can be faster than, by the
/// same model. A maximum over ranks is no less than the mean, so each phase takes at least what all tables do on all
/// ranks, divided by the ranks. Every table takes its cheapest option of those that, alone on the ranks, end within the
/// bound, at the price of memory (a Lagrange multiplier) at which the bound is largest: all ranks together have no more
/// of it than they have. Besides, each exchange that the options of a plan need wherever its seats are takes its first
/// messages and latency, as do those that say how much comes; the bound is the least over what plans may need.
/// options: sets of options by kind, from which starts are made: those that the bound takes; where there are some,
/// those of which none takes more than a half or a quarter of what the bound leaves a table.
struct LowerBound {
  double seconds = 0.0;
  std::vector<std::vector<int>> options;
};
LowerBound lower_bound(const SearchProblem& problem);

}  // namespace shardmark::placement
