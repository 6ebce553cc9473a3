// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "comm/communicator.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/measure/control_groups.hpp"
#include "workloads/measure/needed_memory.hpp"

namespace shardmark::workloads {

/// Returns the bytes of the rows and optimizer state that a plan puts on each rank, [ranks].
std::vector<double> table_bytes(const placement::Plan& plan, const std::vector<Table>& tables);

/// Returns the bytes that this rank needs to measure the cases of a plan: its rows and state, dense gradients of
/// replicated tables, the buffers of the case that needs most (one exists at a time) with what its exchange keeps, the
/// batches that are rotated through, and the reference. It is an estimate from sizes and the law of the ids
/// (expected_counts.hpp), made before anything is allocated: enough, and at most three times as much as is used. What
/// MPI itself allocates is not counted.
NeededMemory memory_needed(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                           std::span<const Case> cases);

/// Throws InputError naming the command and `remedy` unless every rank has so many bytes left for arrays
/// (memory_of_rank()). Collective.
void require_memory(const comm::Communicator& comm, double bytes_per_rank, std::string_view command,
                    std::string_view remedy);

/// Throws InputError naming the rank, what it needs, what its node or GPU has and what would help (memory_fit.hpp),
/// unless every node, and every GPU where steps run on GPUs, can hold its ranks. Collective.
void require_memory(const comm::Communicator& comm, const placement::Plan& plan, const RunOptions& options,
                    std::span<const Case> cases);

/// Returns the bytes that the ranks of this rank's node may still take together: memory_available() where the node has
/// its kernel to itself. Nodes that share a kernel, such as containers on one host, each get an even part of what it
/// has left. Collective.
std::int64_t memory_of_node(const comm::Communicator& comm);

/// Returns the bytes that the arrays of this rank may still take: its even part of what its node has left, or its GPU
/// where steps run on GPUs. Collective.
std::int64_t memory_of_rank(const comm::Communicator& comm);

/// Returns the most batches of a case that are in memory at once: with steps that are prepared before they are taken,
/// those of all places, the one of a case without them (ReadyCase), and the one of the steps by which a number of
/// threads is chosen.
double most_flights(const Async& async);

/// Returns the bytes that mode patched keeps on a rank for itself: the step of the latest update of each row
/// (RowVersions), and for each batch in flight what is known of single bags and the vectors that are sent again, at
/// most all.
double patch_bytes(const comm::Communicator& comm, const placement::Plan& plan, const Workload& workload,
                   const Case& config);

}  // namespace shardmark::workloads
