// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/answer.hpp"

namespace shardmark::results {

/// Returns a line on the fastest case with tables of storage dynamic: how many rows they hold, in how many bytes, and
/// how rows came and went in the timed steps. It is empty where there is none.
std::vector<std::string> dynamic_table_lines(const Records& ranked);

}  // namespace shardmark::results
