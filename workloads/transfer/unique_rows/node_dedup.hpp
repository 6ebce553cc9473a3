// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Returns why dedup node cannot be used: there must be several nodes with equally many ranks, several each. Empty
/// when it can.
std::string why_no_node_dedup(const comm::Communicator& comm);
/// Throws InputError where dedup node cannot be used.
void require_node_dedup(const comm::Communicator& comm);

/// Returns how many ranks of the rank's node come before it.
int local_rank(const comm::Communicator& comm, int rank);

/// Returns [ranks]: the order of the row shards' ranks, by (local rank, rank), in which those that one rank of a node
/// requests from are contiguous.
std::vector<int> places_of_node_dedup(const comm::Communicator& comm);

}  // namespace shardmark::workloads
