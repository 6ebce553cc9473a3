// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Returns a plan of whole tables as one of `tables`, whose rows are those divided by `scale` and rounded up: blocks of
/// rows keep their shares, or remain those of row_block(), rows modulo n stay so, hot rows become fewer, and shards
/// without rows go. The plan that comes out is sound (plan_check.hpp) where the tables were so divided, and shards are
/// blocks or go on to the last row.
Plan divided_plan(Plan plan, std::span<const Table> tables, std::int64_t scale);

}  // namespace shardmark::placement
