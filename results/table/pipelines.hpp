// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Returns lines that compare prefetched steps: of the cases with them the fastest of each mode and order, and the
/// fastest without. Each line has threads, capacity and bound; staleness (p50, p99, max); mean queue depth; ms per step
/// that a step waits for its batch and an update for a lookup; ms to prepare a batch and of a step without that, and
/// what the formula makes of them beside the measured step, with its error; share of pooled embeddings sent again; MB
/// of batches in memory. The first line is the heading; the lines behind those of the cases have exposed ms and other
/// values that few cases have, and the last ones say what the columns mean. It is empty where there is no such case.
std::vector<std::string> pipeline_lines(const Records& ranked);

}  // namespace shardmark::results
