// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Of cases whose steps are prepared ahead, the fastest of each mode and order and the fastest that is not, a line
/// each: threads, capacity and bound; staleness (p50, p99, max); mean queue depth; ms per step that a step waits for
/// its batch and an update for a lookup; ms to prepare a batch and of a step without that, and what the formula makes
/// of them beside the measured step, with its error; exposed ms; share of vectors sent again; MB of batches in memory.
/// The first line is the heading, the last says what it means. Empty where there is no such case.
std::vector<std::string> pipeline_lines(const Records& ranked);

}  // namespace shardmark::results
