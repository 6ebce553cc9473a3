// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace shardmark::workloads {

/// Returns the x >= 0, [columns], that minimises |A x - b|, by active sets (Lawson and Hanson, "Solving Least Squares
/// Problems", 1974, chapter 23). rows: those of A, all of one length; b has one value for each. Columns that are
/// combinations of others, or 0, have x = 0. Throws std::invalid_argument where sizes differ.
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& rows, std::span<const double> b);

}  // namespace shardmark::workloads
