// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Returns the ranks that hold nothing of any table, ascending. They are legal: they look up samples like the others.
std::vector<int> idle_ranks(const Plan& plan);

/// Returns a text such as "ranks 5-7 hold nothing"; empty where all hold something.
std::string idle_ranks_text(const Plan& plan);

}  // namespace shardmark::placement
