// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Returns lines that compare what prefetched steps cost in loss and AUC, among cases that were trained anew, all for
/// as many steps. Each line is the fastest case of one mode, bound and order: bound; staleness (p50, p99, max); loss
/// and AUC, and by how much they are above those of steps that are not stale ("same": to the last bit); ms, and how
/// many times as fast. Not stale are the cases `off`, or where there is none those with bound 0. The first line is the
/// heading, the last ones say what it means. A single case without a bound is one line. It is empty where no case was
/// trained so.
std::vector<std::string> convergence_lines(const Records& ranked);

}  // namespace shardmark::results
