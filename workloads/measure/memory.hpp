// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "comm/communicator.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/measure/control_groups.hpp"

namespace shardmark::workloads {

/// Bytes of the rows and optimizer state that a plan puts on each rank, [ranks].
std::vector<double> table_bytes(const placement::Plan& plan, const std::vector<Table>& tables);

/// Bytes that this rank needs to measure the cases of a plan: its rows and state, dense gradients of replicated tables,
/// the buffers of the case that needs most (one exists at a time) with what its exchange keeps, the batches that are
/// rotated through, and the reference. An estimate from sizes and the law of the ids (expected_counts.hpp), made before
/// anything is allocated: enough, and at most three times as much as is used. What MPI itself allocates is not counted.
double memory_needed(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                     std::span<const Case> cases);

/// Throws InputError naming the command and `remedy` unless every node has so many bytes left for each of its ranks.
/// Collective.
void require_memory(const comm::Communicator& comm, double bytes_per_rank, std::string_view command,
                    std::string_view remedy);

/// Throws InputError naming the rank, what it needs, what its node has and what would help (memory_fit.hpp), unless
/// every node can hold its ranks. Collective.
void require_memory(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                    std::span<const Case> cases);

}  // namespace shardmark::workloads
