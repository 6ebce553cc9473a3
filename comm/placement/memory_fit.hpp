// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Returns what would help rank `rank`, which holds too much: "its largest table that could move is C3, 4.1 GB, to rank
/// 0, which has 5.0 GB left"; where none fits elsewhere, it says that the largest must be split, or not be copied to
/// every rank. room: bytes that each rank has left, [plan.ranks], negative where they are too few. The plan must be
/// sound (plan_check.hpp).
std::string relief(const Plan& plan, std::span<const Table> tables, int rank, std::span<const double> room);

/// Returns a line for each rank that needs more than it has: "rank 3 needs 12.3 GB of memory, 2.3 GB more than it has;
/// ", and its relief(). needed: bytes by rank; available: bytes of each.
std::vector<std::string> memory_problems(const Plan& plan, std::span<const Table> tables,
                                         std::span<const double> needed, double available);

/// Returns the same lines where only rows and optimizer state need memory.
std::vector<std::string> memory_problems(const Plan& plan, std::span<const Table> tables, double available);

/// Throws InputError with the first of these problems, prefixed by the plan's name, and how many more ranks have one.
void require_fit(const Plan& plan, std::span<const Table> tables, double available);

}  // namespace shardmark::placement
