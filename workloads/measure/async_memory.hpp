// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Batches of a case that are in memory at once, at most: with steps that are prepared ahead those of all places, the
/// one of a case without them (ReadyCase), and the one of the steps by which a number of threads is chosen.
double most_flights(const Async& async);

/// What mode patched keeps on a rank for itself: the step of the latest update of each row (RowVersions), and for each
/// batch in flight what is known of single bags and the vectors that are sent again, at most all.
double patch_bytes(const comm::Communicator& comm, const placement::Plan& plan, const Workload& workload,
                   const Case& how);

}  // namespace shardmark::workloads
