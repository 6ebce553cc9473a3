// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"

namespace shardmark::workloads {

/// What a case prepares ahead of its steps must be possible with plan and tables. Throws InputError that names plan,
/// table, feature or transfer and the reason:
///   - lookups of tensor trains are not made ahead: they count rows for the cache that the steps fill;
///   - rows: no feature may pool by max, whose gradient goes to the row that equals the maximum now;
///   - patched: of tables that are split by rows vectors must travel one by one, so that single ones can be sent again.
void require_async(const placement::Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                   const Case& how);

}  // namespace shardmark::workloads
