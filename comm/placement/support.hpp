// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/movement.hpp"
#include "comm/placement/plan.hpp"
#include "reference/table.hpp"

namespace shardmark {

/// What tables, features and plan ask for must be something that a training step can do. Throws InputError that names
/// plan, table or feature and the reason:
///   - int8 rows can be looked up, not trained: their optimizer must be `none`;
///   - max pooling needs whole bags where it pools: no shard of its table may lack rows, unless the transfer brings the
///     rows to the bags;
///   - a dedup other than off and auto needs a transfer that sends rows.
void require_supported(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                       const Movement& movement);

}  // namespace shardmark
