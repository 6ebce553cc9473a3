// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Returns a table that compares prefetched steps: a column for the fastest case of each mode and order, and for the
/// fastest without, a line for each quantity that any of them has (async_fields.hpp), its unit in words; and a line
/// that says who prepares batches. It is empty where no case prefetches.
std::vector<std::string> pipeline_lines(const Records& ranked);

}  // namespace shardmark::results
