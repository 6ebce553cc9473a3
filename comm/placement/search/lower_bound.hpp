// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/search/problem.hpp"

namespace shardmark::placement {

/// Holds the seconds that no plan of the options of the problem, wherever their seats are, can be faster than, by the
/// same model. They are the larger of
///   - the total: a maximum over ranks is no less than the mean, so each phase takes at least what all tables do on all
///     ranks, divided by the ranks. Every table takes its cheapest option, at the price of memory (a Lagrange
///     multiplier) at which the bound is largest: all ranks together have no more of it than they have. Besides, each
///     exchange that the options of a plan need wherever its seats are takes its first messages and latency, as do
///     those that say how much comes; the bound is the least over what plans may need;
///   - the largest item: the table whose cheapest option, alone on the ranks, takes longest.
/// options: those that the total takes, by kind, from which a start is made.
struct LowerBound {
  double seconds = 0.0;
  std::vector<int> options;
};
LowerBound lower_bound(const SearchProblem& problem);

}  // namespace shardmark::placement
