// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "comm/communicator.hpp"
#include "comm/placement/movement.hpp"
#include "comm/placement/plan.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark {

/// Bytes that one rank needs for a plan: its rows and state, dense gradients of replicated tables, the buffers of a
/// step for the movement that needs most (buffers that other cases keep are not counted) and the batches it rotates
/// through. An estimate from sizes and the law of the ids (expected_counts.hpp), made before anything is allocated.
double memory_needed(const Plan& plan, const RunOptions& options, std::span<const Movement> movements, int rank);

/// Bytes that processes may still take on this node: what the kernel calls available, or what the control group leaves.
std::int64_t memory_available();

/// Throws InputError naming the command and `remedy` unless every node has so many bytes left for each of its ranks.
/// Collective.
void require_memory(const Communicator& comm, double bytes_per_rank, std::string_view command, std::string_view remedy);

/// Throws InputError naming the rank, what it needs and what its node has, unless every node can hold its ranks.
/// Collective.
void require_memory(const Communicator& comm, const Plan& plan, const RunOptions& options,
                    std::span<const Movement> movements);

}  // namespace shardmark
